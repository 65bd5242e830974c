// TripBench: modern clients at legacy children that ask, and a fixture for tests of these round
// trips. Such tests live in this namespace.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

inline constexpr milliseconds kGather(20);
inline const std::string kElicits = R"({"elicitation":{}})";
inline const std::string kAsk =
    R"({"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"who?",)"
    R"("requestedSchema":{"type":"object","properties":{}},"_meta":{"x":1}}})";

inline backend::BackendOptions trip_options(config::Isolation isolation) {
  backend::BackendOptions options = ModernBench::options_of(config::Revision::legacy, isolation);
  options.config.bridge = config::Bridge::on;
  options.config.revive = true;
  options.config.pool.min = 0;
  options.config.pool.max = 4;
  options.config.pool.parked = 2;
  options.config.pool.idle_timeout = minutes(5);
  options.input_timeout = minutes(5);
  return options;
}

inline policy::Principal named(const std::string& name) {
  policy::Principal principal;
  principal.name = name;
  return principal;
}

class TripBench : public ModernBench {
 public:
  explicit TripBench(const backend::BackendOptions& options) : ModernBench(options) {}
  // Calls a tool. The client can be asked the questions that `capabilities` allow.
  void call(FakeClient& client, const std::string& id, const std::string& more = "",
            const std::string& capabilities = kElicits,
            const policy::Principal* principal = nullptr) {
    send_modern(client, request(id, "tools/call", R"("name":"t")" + more, meta(capabilities)),
                principal);
  }
  // Calls a tool from this address.
  void call_from(FakeClient& client, const std::string& id, const ClientAddress& address,
                 const std::string& capabilities = kElicits,
                 const policy::Principal* principal = nullptr) {
    send_modern(client, request(id, "tools/call", R"("name":"t")", meta(capabilities)), principal,
                &address);
  }
  // Advances time until the gateway no longer waits for further questions.
  void settle() { advance(kGather); }
  // Starts the child with this index, which answers its greeting. Returns the greeting.
  std::string greet(size_t index) {
    FakeChild& process = child(index);
    process.start();
    const std::string greeting = process.take_line();
    process.answer(parse_asked(greeting).id, std::string(kGreeting));
    EXPECT_EQ(process.take_line(), R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    return greeting;
  }
};

// The only member of inputRequests, and the state, of a call that needs input.
struct Needed {
  std::string key;
  std::string request;
  std::string state;
};

inline Needed needed_of(const std::string& answer) {
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  std::string copy = answer;
  const auto document = parser.parse(copy);
  EXPECT_TRUE(document.has_value()) << answer;
  const std::string_view result = document->messages[0].envelope.payload;
  EXPECT_EQ(rpc::find_member(result, "resultType").value_or(""), R"("input_required")") << answer;
  const std::string_view requests = rpc::find_member(result, "inputRequests").value_or("{}");
  const std::string_view state = rpc::find_member(result, "requestState").value_or(R"("")");
  const size_t end = requests.find('"', 2);
  if (end == std::string_view::npos) return {};
  const std::string key(requests.substr(2, end - 2));
  return {key, std::string(rpc::find_member(requests, key).value_or("")),
          std::string(state.substr(1, state.size() - 2))};
}

inline std::string with_state(const std::string& state) {
  return R"(,"requestState":")" + state + "\"";
}

inline std::string with_answer(
    const Needed& needed, const std::string& answer = R"({"action":"accept","content":{"n":1}})") {
  return R"(,"inputResponses":{")" + needed.key + "\":" + answer + "}" + with_state(needed.state);
}

// A fixture for both isolations: children that sessions share, and children of sessions.
class RoundTripsTest : public testing::TestWithParam<config::Isolation> {
 public:
  // The first child, with a client's call in flight.
  FakeChild& called(const std::string& capabilities = kElicits) {
    bench.call(client, "1", "", capabilities);
    bench.greet(0);
    call_line = bench.child(0).take_line();
    call_id = parse_asked(call_line).id;
    return bench.child(0);
  }
  // The first child has asked a question, so the client's call is parked.
  FakeChild& parked() {
    FakeChild& child = called();
    child.say(kAsk);
    bench.settle();
    needed = needed_of(client.texts().at(0));
    return child;
  }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    const size_t at = text.find(R"("error":)");
    return at == std::string::npos ? text : text.substr(at);
  }

  TripBench bench{trip_options(GetParam())};
  FakeClient client{bench.callers};
  FakeClient other{bench.callers};
  std::string call_line;  // as the child received it
  std::string call_id;
  Needed needed;
};

}  // namespace stdgate::test
