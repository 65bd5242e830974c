#include "gateway/pool/abandoned_calls.h"

#include <algorithm>

namespace stdgate::pool {

void AbandonedCalls::add(rpc::WireId id, session::SessionId session) {
  if (calls_.size() == kMaxEntries) {
    overflowed_ = true;
  } else {
    calls_.push_back({id, session});
  }
}

void AbandonedCalls::finish(rpc::WireId id) {
  const auto call = std::find_if(calls_.begin(), calls_.end(),
                                 [id](const AbandonedCall& one) { return one.id == id; });
  if (call == calls_.end()) return;
  *call = calls_.back();
  calls_.pop_back();
}

bool AbandonedCalls::are_all_of(session::SessionId session) const {
  return !overflowed_ &&
         std::all_of(calls_.begin(), calls_.end(),
                     [session](const AbandonedCall& one) { return one.session == session; });
}

session::SessionId AbandonedCalls::some_session() const {
  return calls_.empty() ? session::SessionId() : calls_.front().session;
}

void GivenUpCalls::add(rpc::WireId id, CancelReason why) {
  if (calls_.size() < kMaxKept) calls_.emplace_back();
  calls_[next_] = {id, why};
  next_ = (next_ + 1) % kMaxKept;
}

std::optional<CancelReason> GivenUpCalls::find(rpc::WireId id) const {
  const auto call = std::ranges::find(calls_, id, &GivenUp::id);
  return call == calls_.end() ? std::nullopt : std::optional(call->why);
}

}  // namespace stdgate::pool
