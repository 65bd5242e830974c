#include "gateway/pool/session_memory.h"

#include <utility>

#include "gateway/session/subscriptions.h"

namespace stdgate::pool {

void SessionMemory::learn_greeting(std::string_view greeting, const rpc::Envelope& answer,
                                   const Dialect& dialect) {
  terms_ = dialect.terms(answer);
  is_repeatable_ = terms_ && !greeting.empty() && greeting.size() <= kMaxGreeting;
  if (is_repeatable_) greeting_ = greeting;
}

void SessionMemory::learn(call::SessionMemo memo, std::string_view text) {
  switch (memo) {
    case call::SessionMemo::severity:
      severity_ = session::parse_severity(text);
      break;
    case call::SessionMemo::subscribe:
      subscribe(text);
      break;
    case call::SessionMemo::unsubscribe:
      subscription_bytes_ -= subscriptions_.erase(std::string(text)) * text.size();
      break;
    case call::SessionMemo::greeting:
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
  return subscriptions_.contains(key) ||
         !session::Subscriptions::refusal(subscriptions_.size(), subscription_bytes_, key);
}

bool Revival::go_on(Child& child) {
  if (!child.has_room()) return false;
  switch (step_) {
    case Step::greeting:
      greeting_ = child.greet_again(memory_.greeting());
      step_ = Step::answer;
      return false;
    case Step::answer:
      return false;
    case Step::memory: {
      if (memory_.is_complete()) {
        call::Outgoing completion;
        completion.text = services_.dialect.traits().greeting_completion;
        child.send_message(completion);
      }
      step_ = Step::subscriptions;
      if (const auto severity = memory_.severity()) child.set_severity(*severity);
      return hear_out(child);
    }
    case Step::subscriptions:
      return hear_out(child);
    case Step::pong:
      return false;
    case Step::questions:
      return !events_.holds_calls(session_);
  }
  return true;
}

bool Revival::subscribe(Child& child) {
  const auto& keys = memory_.subscriptions();
  for (auto key = keys.upper_bound(subscribed_); key != keys.end(); ++key) {
    if (!child.has_room()) return false;
    child.ask([&](rpc::WireId id) { return services_.dialect.subscribe(id, *key, true); });
    subscribed_ = *key;
  }
  return true;
}

bool Revival::hear_out(Child& child) {
  if (!subscribe(child)) return false;
  if (!memory_.asks_first()) return true;
  if (!child.has_room()) return false;
  child.ask([this](rpc::WireId id) {
    pong_ = id;
    return services_.dialect.ping(id);
  });
  step_ = Step::pong;
  return false;
}

RevivalOutcome Revival::judge(const rpc::Envelope* answer) {
  greeting_.reset();
  step_ = Step::memory;
  const Dialect& dialect = services_.dialect;
  auto terms = answer == nullptr ? std::nullopt : dialect.terms(*answer);
  if (!terms) return RevivalOutcome::failed;
  if (!memory_.is_agreed(terms->revision)) return RevivalOutcome::other_revision;
  const std::optional<GreetingTerms>& before = memory_.terms();
  const bool is_same = before && before->digest == terms->digest;
  const auto severity = memory_.severity();
  if (memory_.has_served() && (!severity || *severity <= session::Severity::warning)) {
    notices_.push_back(dialect.traits().restart_notice);
  }
  if (!is_same) {
    const auto lists = static_cast<uint8_t>(terms->lists | (before ? before->lists : 0));
    for (const std::string_view notice : dialect.change_notices(lists)) notices_.push_back(notice);
  }
  const RevivalOutcome outcome = is_same  ? RevivalOutcome::same
                                 : before ? RevivalOutcome::changed
                                          : RevivalOutcome::unknown;
  memory_.forget_served();
  memory_.set_terms(std::move(*terms));
  return outcome;
}

}  // namespace stdgate::pool
