#include "gateway/pool/era_verdict.h"

#include <utility>

#include "gateway/rpc/fault.h"

namespace stdgate::pool {

bool refuses_era(const rpc::Envelope& answer) {
  return rpc::error_code(answer) == rpc::rpc_error_code(rpc::RpcError::unsupported_version);
}

EraVerdict::EraVerdict(config::Revision revision, Greeting first)
    : revision_(revision), first_(first) {
  if (revision == config::Revision::legacy) era_ = Era::legacy;
  if (revision == config::Revision::modern) era_ = Era::modern;
}

Greeting EraVerdict::greeting() const {
  if (!era_) return first_;
  return *era_ == Era::modern ? Greeting::modern : Greeting::legacy;
}

bool EraVerdict::learn(Era era) {
  if (revision_ != config::Revision::automatic) return false;
  is_shown_ = true;
  return std::exchange(era_, era) != era;
}

bool EraVerdict::excuses(Greeting greeting, StartFailure failure) {
  if (revision_ != config::Revision::automatic) return false;
  if (greeting == Greeting::probe) {
    era_ = Era::legacy;
    return failure == StartFailure::while_asked;
  }
  if (failure != StartFailure::refused) return false;
  const bool was_shown = std::exchange(is_shown_, false);
  // A child that was greeted as a legacy one without a probe may be a modern one: that comes next.
  const bool is_untried = greeting == Greeting::legacy && !era_;
  era_ = is_untried ? std::optional(Era::modern) : std::nullopt;
  return is_untried || was_shown;
}

void EraVerdict::doubt() {
  if (revision_ == config::Revision::automatic && era_ == Era::legacy) era_.reset();
}

}  // namespace stdgate::pool
