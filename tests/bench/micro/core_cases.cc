// Cost of a call in the whole core, with a child in memory: Backend, Pool, Child and their parts.
#include <memory>

#include "gateway/observer.h"
#include "tests/bench/micro/case.h"
#include "tests/bench/micro/echo_core.h"

namespace stdgate::bench {

namespace {

Case core(const std::string& name, EchoCore::Caller caller, size_t size) {
  return {"core/" + name, 0, [caller, size]() -> Step {
            const std::string params = echo_params(size - echo_request("").size());
            auto observer = std::make_shared<Observer>();
            auto echo = std::make_shared<EchoCore>(caller, echo_request(params), params, *observer);
            return [observer, echo] { echo->call(); };
          }};
}

}  // namespace

std::vector<Case> core_cases() {
  return {
      core("rpc-100B", EchoCore::Caller::alone, 100),
      core("rpc-10kB", EchoCore::Caller::alone, 10'000),
      core("session-100B", EchoCore::Caller::session, 100),
      core("session-own-child-100B", EchoCore::Caller::session_with_own_child, 100),
  };
}

}  // namespace stdgate::bench
