#include "gateway/pool/session_memory.h"

#include <utility>

#include "gateway/session/subscriptions.h"

namespace stdgate::pool {

void SessionMemory::learn(const call::Call& call, const rpc::Envelope& answer,
                          const Dialect& dialect) {
  switch (call.memo) {
    case call::SessionMemo::greeting:
      terms_ = dialect.terms(answer);
      is_repeatable_ = terms_ && !call.memo_text.empty() && call.memo_text.size() <= kMaxGreeting;
      if (is_repeatable_) greeting_ = call.memo_text;
      break;
    case call::SessionMemo::severity:
      severity_ = session::parse_severity(call.memo_text);
      break;
    case call::SessionMemo::subscribe:
      subscribe(call.memo_text);
      break;
    case call::SessionMemo::unsubscribe:
      subscription_bytes_ -= subscriptions_.erase(call.memo_text) * call.memo_text.size();
      break;
    case call::SessionMemo::completion:
    case call::SessionMemo::first:
    case call::SessionMemo::none:
      break;
  }
}

void SessionMemory::adopt(const Knowledge& known) {
  greeting_ = known.greeting;
  agreed_ = known.revision;
  asks_first_ = known.asks_first;
  severity_ = known.severity;
  for (const std::string& key : known.subscriptions) subscribe(key);
  is_complete_ = true;
  has_served_ = true;  // not known, so the safe assumption
}

void SessionMemory::subscribe(std::string_view key) {
  if (!has_room_for(key) || !subscriptions_.emplace(key).second) return;
  subscription_bytes_ += key.size();
}

bool SessionMemory::has_room_for(std::string_view key) const {
  using session::Subscriptions;
  if (subscriptions_.contains(key)) return true;
  return key.size() <= Subscriptions::kMaxKey &&
         subscriptions_.size() < Subscriptions::kMaxPerSession &&
         subscription_bytes_ + key.size() <= Subscriptions::kMaxBytesPerSession;
}

}  // namespace stdgate::pool
