#include "gateway/session/subscriptions.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::session {

// --- Wishes of sessions ---------------------------------------------------------------------

std::optional<rpc::FaultReport> Subscriptions::refusal(size_t count, size_t bytes,
                                                       std::string_view key) {
  if (key.size() > kMaxKey) {
    return rpc::faults::too_large("the name of what is subscribed to is too long");
  }
  const bool is_over = count >= kMaxPerSession || bytes + key.size() > kMaxBytesPerSession;
  return is_over ? std::optional(rpc::faults::too_many_subscriptions()) : std::nullopt;
}

tl::expected<bool, rpc::FaultReport> Subscriptions::request(SessionId session,
                                                            std::string_view key) {
  Wish* wish = find_wish(session, key);
  if (wish == nullptr) {
    const auto of_session = wishes_.find(session);
    const bool is_first = of_session == wishes_.end();
    if (auto report = refusal(is_first ? 0 : of_session->second.by_key.size(),
                              is_first ? 0 : of_session->second.bytes, key)) {
      return tl::unexpected(*std::move(report));
    }
    Wishes& wishes = wishes_[session];
    wish = &wishes.by_key.try_emplace(std::string(key)).first->second;
    wishes.bytes += key.size();
  } else if (wish->child) {
    return false;
  }
  wish->wanted = true;
  ++wish->asked;
  note_asked(key);
  return true;
}

void Subscriptions::note_asked(std::string_view key) {
  size_t& count = asked_.try_emplace(std::string(key)).first->second;
  if (count++ > 0) return;
  for (auto& [child, unwanted] : unwanted_) {
    if (const auto found = unwanted.free.find(key); found != unwanted.free.end()) {
      unwanted.asked.insert(unwanted.free.extract(found));
    }
  }
}

void Subscriptions::note_answered(std::string_view key) {
  const auto asked = asked_.find(key);
  STDGATE_CHECK(asked != asked_.end());
  if (--asked->second > 0) return;
  for (auto& [child, unwanted] : unwanted_) {
    if (const auto found = unwanted.asked.find(key); found != unwanted.asked.end()) {
      unwanted.free.insert(unwanted.asked.extract(found));
    }
  }
  asked_.erase(asked);
}

void Subscriptions::finish(SessionId session, std::string_view key, uint64_t child, Answer answer) {
  note_answered(key);
  Wish* wish = find_wish(session, key);  // null: the session has closed
  if (wish != nullptr) {
    STDGATE_CHECK(wish->asked > 0);
    --wish->asked;
  }
  const bool is_subscribed = child != kNoChild && answer == Answer::granted;
  if (is_subscribed && wish != nullptr && wish->wanted && !wish->child) {
    move({session}, key, child);
  } else if (child != kNoChild && answer != Answer::refused) {
    let_go(child, key);
  }
  if (wish != nullptr) drop_if_over(session, key);
}

bool Subscriptions::await(SessionId session, std::string_view key) {
  if (!request(session, key).value_or(false)) return false;
  move({session}, key, kNoChild);
  finish(session, key, kNoChild, Answer::unknown);
  return true;
}

Subscriptions::Withdrawal Subscriptions::withdraw(SessionId session, std::string_view key) {
  Wish* wish = find_wish(session, key);
  if (wish == nullptr) return {};
  wish->wanted = false;
  // A key that waits for a child is in the list of kNoChild.
  const std::optional<uint64_t> child = std::exchange(wish->child, std::nullopt);
  const bool was_last = child && leave(key, *child, wish->place);
  drop_if_over(session, key);
  return {true, was_last ? *child : kNoChild};
}

void Subscriptions::close(SessionId session) {
  const auto of_session = wishes_.extract(session);
  if (of_session.empty()) return;
  for (const auto& [key, wish] : of_session.mapped().by_key) {
    if (wish.child) leave(key, *wish.child, wish.place);
  }
}

Subscriptions::Wish* Subscriptions::find_wish(SessionId session, std::string_view key) {
  const auto of_session = wishes_.find(session);
  if (of_session == wishes_.end()) return nullptr;
  const auto wish = of_session->second.by_key.find(key);
  return wish == of_session->second.by_key.end() ? nullptr : &wish->second;
}

// Forgets a subscription that is neither held nor under way.
void Subscriptions::drop_if_over(SessionId session, std::string_view key) {
  const auto of_session = wishes_.find(session);
  STDGATE_CHECK(of_session != wishes_.end());
  Wishes& wishes = of_session->second;
  const auto wish = wishes.by_key.find(key);
  STDGATE_CHECK(wish != wishes.by_key.end());
  if (wish->second.asked > 0 || wish->second.child) return;
  STDGATE_CHECK(wishes.bytes >= key.size());
  wishes.bytes -= key.size();
  wishes.by_key.erase(wish);
  if (wishes.by_key.empty()) wishes_.erase(of_session);
}

// --- Keys of children -----------------------------------------------------------------------

bool Subscriptions::leave(std::string_view key, uint64_t child, size_t place) {
  const auto of_child = held_.find(child);
  if (of_child == held_.end()) return false;
  const auto held = of_child->second.find(key);
  if (held == of_child->second.end()) return false;
  std::vector<SessionId>& sessions = held->second;
  STDGATE_CHECK(place < sessions.size());
  // The last session takes the free index.
  const SessionId last = sessions.back();
  sessions.pop_back();
  if (place < sessions.size()) {
    sessions[place] = last;
    Wish* const moved = find_wish(last, key);
    STDGATE_CHECK(moved != nullptr);
    moved->place = place;
  }
  if (!sessions.empty()) return false;
  of_child->second.erase(held);
  if (of_child->second.empty()) held_.erase(of_child);
  let_go(child, key);
  return true;
}

// Beyond the limit the child keeps the subscription, and its updates are dropped.
void Subscriptions::let_go(uint64_t child, std::string_view key) {
  if (child == kNoChild || find(child, key) != nullptr || unwanted_count_ >= kMaxUnwanted) return;
  Unwanted& unwanted = unwanted_[child];
  auto& keys = asked_.contains(key) ? unwanted.asked : unwanted.free;
  unwanted_count_ += keys.emplace(key).second ? 1 : 0;
}

bool Subscriptions::forget_unwanted(uint64_t child, std::string_view key) {
  const auto of_child = unwanted_.find(child);
  if (of_child == unwanted_.end()) return false;
  auto& keys = asked_.contains(key) ? of_child->second.asked : of_child->second.free;
  const auto unwanted = keys.find(key);
  if (unwanted == keys.end()) return false;
  keys.erase(unwanted);
  if (of_child->second.size() == 0) unwanted_.erase(of_child);
  STDGATE_CHECK(unwanted_count_ > 0);
  --unwanted_count_;
  return true;
}

void Subscriptions::move(const std::vector<SessionId>& sessions, std::string_view key,
                         uint64_t to) {
  forget_unwanted(to, key);
  auto& there = held_[to].try_emplace(std::string(key)).first->second;
  for (const SessionId session : sessions) {
    Wish* const wish = find_wish(session, key);
    STDGATE_CHECK(wish != nullptr);
    wish->child = to;
    wish->place = there.size();
    there.push_back(session);
  }
}

size_t Subscriptions::bytes_of(SessionId session) const {
  const auto wishes = wishes_.find(session);
  if (wishes == wishes_.end()) return 0;
  return wishes->second.bytes +
         wishes->second.by_key.size() * sizeof(decltype(Wishes::by_key)::value_type);
}

void Subscriptions::lose_child(uint64_t child) {
  if (auto lost = held_.extract(child); !lost.empty()) {
    for (auto& [key, sessions] : lost.mapped()) move(sessions, key, kNoChild);
  }
  if (const auto lost = unwanted_.extract(child); !lost.empty()) {
    STDGATE_CHECK(unwanted_count_ >= lost.mapped().size());
    unwanted_count_ -= lost.mapped().size();
  }
}

const std::vector<SessionId>* Subscriptions::find(uint64_t child, std::string_view key) const {
  const auto of_child = held_.find(child);
  if (of_child == held_.end()) return nullptr;
  const auto held = of_child->second.find(key);
  return held == of_child->second.end() ? nullptr : &held->second;
}

bool Subscriptions::is_wanted(std::string_view key) const {
  return asked_.contains(key) ||
         std::any_of(held_.begin(), held_.end(),
                     [key](const auto& of_child) { return of_child.second.contains(key); });
}

void Subscriptions::check_invariants(const std::function<bool(SessionId)>& is_open,
                                     const std::function<bool(uint64_t)>& is_running) const {
  size_t places = 0;
  for (const auto& [session, wishes] : wishes_) {
    STDGATE_CHECK(is_open(session) && !wishes.by_key.empty());
    size_t bytes = 0;
    for (const auto& [key, wish] : wishes.by_key) {
      bytes += key.size();
      STDGATE_CHECK(wish.asked > 0 || wish.child);
      if (!wish.child) continue;
      ++places;
      const std::vector<SessionId>* const there = find(*wish.child, key);
      STDGATE_CHECK(there != nullptr && wish.place < there->size());
      STDGATE_CHECK((*there)[wish.place] == session);
    }
    STDGATE_CHECK(bytes == wishes.bytes);
  }
  for (const auto& [child, keys] : held_) {
    STDGATE_CHECK(!keys.empty() && (child == kNoChild || is_running(child)));
    for (const auto& [key, sessions] : keys) {
      STDGATE_CHECK(!sessions.empty() && sessions.size() <= places);
      places -= sessions.size();
    }
  }
  STDGATE_CHECK(places == 0);
  size_t unwanted = 0;
  for (const auto& [child, keys] : unwanted_) {
    STDGATE_CHECK(keys.size() > 0 && is_running(child));
    unwanted += keys.size();
    for (const std::string& key : keys.free) {
      STDGATE_CHECK(find(child, key) == nullptr && !asked_.contains(key));
    }
    for (const std::string& key : keys.asked) {
      STDGATE_CHECK(find(child, key) == nullptr && asked_.contains(key));
    }
  }
  STDGATE_CHECK(unwanted == unwanted_count_);
}

// --- Requests to children -------------------------------------------------------------------

std::optional<std::string> Subscriptions::take_unwanted(uint64_t child) {
  const auto of_child = unwanted_.find(child);
  if (of_child == unwanted_.end() || of_child->second.free.empty()) return std::nullopt;
  std::string key = *of_child->second.free.begin();
  forget_unwanted(child, key);
  return key;
}

bool Subscriptions::take_unwanted(uint64_t child, std::string_view key) {
  return !asked_.contains(key) && forget_unwanted(child, key);
}

std::optional<std::string> Subscriptions::adopt(uint64_t child) {
  for (auto homeless = held_.find(kNoChild); homeless != held_.end();
       homeless = held_.find(kNoChild)) {
    auto first = homeless->second.extract(homeless->second.begin());
    if (homeless->second.empty()) held_.erase(homeless);
    const bool is_held = find(child, first.key()) != nullptr;
    move(first.mapped(), first.key(), child);
    if (!is_held) return std::move(first.key());
  }
  return std::nullopt;
}

}  // namespace stdgate::session
