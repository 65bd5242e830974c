#include "gateway/mcp/listed_filter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gateway/call/call.h"
#include "gateway/call/rule_filter.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/mcp/tool_lock.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::mcp {

ListedFilter::ListedFilter(const pool::FilterServices& services, const McpDialect& dialect)
    : services_(services.services),
      pool_(services.pool),
      chain_(services.services.chain),
      states_(services.services.calls.reserve<State>()),
      dialect_(dialect),
      requests_(services.services, services.pool,
                [this](const Key& key, const call::Call& own) { take_late(key, own); }),
      settle_timer_(services.services.core.timers, [this] { settle(); }) {}

ListScope ListedFilter::scope_of(session::SessionId session) const {
  if (session.is_none() || services_.config.isolation != config::Isolation::session) return 0;
  return (uint64_t{session.generation} << 32U) + session.index + 1;
}

std::optional<ListScope> ListedFilter::scope_of_child(uint64_t child) const {
  const pool::Child* const found = pool_.find_child(child);
  if (found == nullptr) return std::nullopt;
  return found->isolation() == config::Isolation::shared ? 0 : scope_of(found->lease());
}

bool ListedFilter::finds_known(const Key& key) const {
  const auto listing = listings_.find(key);
  if (listing == listings_.end()) return false;
  recent_ = &*listing;
  return listing->second.is_known;
}

void ListedFilter::forget(const Key& key) {
  const auto listing = listings_.find(key);
  if (listing == listings_.end()) return;
  ++doubts_;
  listing->second.is_known = false;
  listing->second.has_changed = true;
  listing->second.not_before = {};
}

void ListedFilter::distrust(ListScope scope, size_t list, uint64_t child) {
  forget_compared(Place(list, child));
  forget(Key(scope, list));
}

void ListedFilter::refuse_list(call::CallPtr& call, size_t list, uint64_t child) {
  distrust(scope_of(*call), list, child);
  look_again();
  chain_.on_fault(std::move(call), call::unclear_list());
}

void ListedFilter::drop_kept() {
  for (ListJudge* const judge : judges_) judge->drop_kept();
}

// --- Calls ----------------------------------------------------------------------------------

[[gnu::always_inline]] inline void ListedFilter::review(call::CallPtr& call,
                                                        const call::Request& request,
                                                        const State& state) {
  const Key key(scope_of(*call), state.list);
  if (!is_known(key)) return wait(call, request);
  const uint64_t doubts = doubts_;
  for (uint32_t left = state.judges; left != 0; left &= left - 1) {
    judges_[static_cast<size_t>(std::countr_zero(left))]->judge(call, request);
    if (call == nullptr) return;
  }
  // A judge has asked for a newer list.
  if (doubts_ != doubts && !is_known(key)) wait(call, request);
}

void ListedFilter::on_request(call::CallPtr& call, const call::Request& request) {
  size_t list = 0;  // the same for all who judge the call
  uint32_t judges = 0;
  for (size_t index = 0; index < judges_.size(); ++index) {
    const auto needed = judges_[index]->on_request(call, request);
    if (call == nullptr) return;
    if (!needed) continue;
    list = *needed;
    judges |= 1U << index;
  }
  if (judges == 0) return;
  State& state = states_.of(call->slots);
  state.judges = judges;
  state.list = list;
  place_ = call->at;
  review(call, request, state);
}

call::Passage ListedFilter::on_notification(const call::Notification& notification) {
  for (ListJudge* const judge : judges_) {
    const call::Passage passage = judge->on_notification(notification);
    if (passage != call::Passage::open) return passage;
  }
  return call::Passage::open;
}

const ListedFilter::State* ListedFilter::judged(const call::Call& call) const {
  const State* const state = states_.find(call.slots);
  return state == nullptr || state->judges == 0 ? nullptr : state;
}

template <class Predicate>
ListJudge* ListedFilter::judge_of(const State& state, Predicate&& predicate) const {
  for (uint32_t left = state.judges; left != 0; left &= left - 1) {
    ListJudge* const judge = judges_[static_cast<size_t>(std::countr_zero(left))];
    if (predicate(*judge)) return judge;
  }
  return nullptr;
}

void ListedFilter::wait(call::CallPtr& call, const call::Request& request) {
  State& state = states_.of(call->slots);
  state.scope = scope_of(*call);
  const Key key(state.scope, state.list);
  Listing& listing = listings_[key];
  if (pool_.is_draining()) return refuse(std::move(call), rpc::faults::shutting_down());
  if (!listing.is_asked && now() < listing.not_before) {
    return refuse(std::move(call),
                  rpc::faults::child_failed("what the server offers could not be asked for"));
  }
  if (!listing.is_asked || listing.until <= now()) listing.until = now() + kMaxWait;
  const session::SessionId session = key.first == 0 ? session::SessionId() : call->session;
  if (!chain_.hold(call, request, listing.until)) {
    return refuse(std::move(call),
                  rpc::faults::overloaded("too many calls wait for what the server offers"));
  }
  if (listing.is_asked) return;
  listing.failures = 0;
  begin_asking(key, session);
}

void ListedFilter::begin_asking(const Key& key, session::SessionId session) {
  Listing& listing = listings_[key];
  listing.is_asked = true;
  listing.has_changed = false;
  listing.refusal.reset();
  listing.pages = 0;
  const uint64_t child = (key.first & kOfChild) != 0 ? key.first & ~kOfChild
                         : key.first == 0            ? requests_.preferred_child(key.second)
                                                     : 0;
  ask(key, session, {}, child);
}

void ListedFilter::ask_child(size_t list, uint64_t child) {
  const Key key(kOfChild | child, list);
  Listing& listing = listings_[key];
  if (listing.is_asked || now() < listing.not_before) return;
  listing.failures = 0;
  begin_asking(key, session::SessionId());
}

void ListedFilter::on_released(call::CallPtr call, const call::Request& request) {
  const State& state = states_.of(call->slots);
  const Key key(state.scope, state.list);
  const Listing& listing = listings_[key];
  if (!listing.is_known) {
    // Another list has come.
    if (listing.is_asked && now() < listing.until && chain_.hold(call, request, listing.until)) {
      return;
    }
    // The list has changed while it came.
    if (!listing.is_asked && listing.has_changed) return wait(call, request);
    return refuse(std::move(call), listing.refusal.value_or(rpc::faults::child_failed(
                                       "what the server offers could not be asked for")));
  }
  review(call, request, state);
  if (call != nullptr) chain_.go_on(std::move(call), request);
}

void ListedFilter::refuse(call::CallPtr call, const rpc::FaultReport& report) {
  chain_.on_fault(std::move(call), report);
}

// --- Lists ----------------------------------------------------------------------------------

void ListedFilter::ask(const Key& key, session::SessionId session, std::string_view cursor,
                       uint64_t child) {
  ++listings_[key].pages;
  const auto prepare = [this, &key](call::Call& own) {
    // Its answer comes no higher than here.
    own.at = static_cast<uint8_t>(place_ + 1);
    State& state = states_.of(own.slots);
    state.is_own = true;
    state.scope = key.first;
    state.list = key.second;
    requests_.add(key, own);
  };
  auto taken = ask_for_page({kPinnedLists[key.second].method, cursor, session, child},
                            {services_, pool_, dialect_}, prepare);
  if (taken) return;
  requests_.remove(key);
  listings_[key].refusal = std::move(taken.error().report);
  end_asking(key, false);
}

void ListedFilter::on_answer(call::CallPtr& call, call::Answer& answer) {
  const State* const state = states_.find(call->slots);
  place_ = call->at;
  const bool is_shown = state == nullptr || state->is_own || shows_judged_;
  if (is_shown) take(call, answer, state != nullptr && state->is_own);
}

void ListedFilter::take(call::CallPtr& call, call::Answer& answer, bool is_own) {
  if (is_own) return take_page(std::move(call), answer);
  for (auto judge = judges_.rbegin(); judge != judges_.rend() && call != nullptr; ++judge) {
    (*judge)->see(call, answer);
  }
}

void ListedFilter::take_page(call::CallPtr call, const call::Answer& answer) {
  const State& state = states_.of(call->slots);
  const Key key(state.scope, state.list);
  requests_.remove(key);
  requests_.note_answer(key.second, call->child);
  Listing& listing = listings_[key];
  ListPage page;
  page.scope = key.first;
  page.list = key.second;
  page.child = call->child;
  page.is_first = listing.pages == 1;
  // Pages of two children are no list.
  if (page.is_first) listing.from = call->child;
  if (listing.from != call->child) return fail_asking(key, call->session);
  if (!call::has_clear_list(answer, kPinnedLists[key.second].member)) return end_asking(key, false);
  if (answer.message.kind != rpc::MessageKind::result) {
    const bool is_empty = page.is_first && std::ranges::all_of(judges_, &ListJudge::takes_refusals);
    if (!is_empty) return end_asking(key, false);
    page.is_last = true;
    page.payload = "{}";
    learn(key, page);
    return end_asking(key, true);
  }
  page.payload = answer.payload;
  const std::string_view cursor = rpc::member_or_empty(answer.payload, "nextCursor");
  page.is_last = !cursor.starts_with('"');
  learn(key, page);
  if (page.is_last) return end_asking(key, true);
  if (listing.pages >= kMaxPages) return end_asking(key, false);
  ask(key, call->session, cursor, call->child);
}

void ListedFilter::learn(const Key& key, const ListPage& page) {
  for (ListJudge* const judge : judges_) judge->learn(page);
  if (!page.is_last || pool_.find_child(page.child) == nullptr) return;
  scopes_.insert_or_assign(page.child, scope_of_child(page.child).value_or(key.first));
  // A change has been told since it was asked for: it is asked again.
  forget_compared(Place(page.list, page.child));
  if (!listings_[key].has_changed) compared_.emplace(page.list, page.child);
  look_again();
}

void ListedFilter::on_fault(call::CallPtr& call, const rpc::FaultReport& /*report*/) {
  const State* const state = states_.find(call->slots);
  if (state == nullptr || !state->is_own) return;
  const Key key(state->scope, state->list);
  const call::CallPtr own = std::move(call);
  requests_.remove(key);
  fail_asking(key, own->session);
}

// Its child has ended, say: another one is asked, once.
void ListedFilter::fail_asking(const Key& key, session::SessionId session) {
  const bool is_another = (key.first & kOfChild) == 0;
  if (is_another && listings_[key].failures++ == 0 && !pool_.is_draining()) {
    return begin_asking(key, session);
  }
  end_asking(key, false);
}

// If its own list is not known, the child gets no call that is judged. One that is not shared is
// not asked again at once: there is no other.
void ListedFilter::take_late(const Key& key, const call::Call& own) {
  const Place place(key.second, own.child);
  if (!compared_.contains(place)) failed_.insert_or_assign(place, now() + kAskAgain);
  const bool is_another = key.first == 0 && requests_.preferred_child(key.second) != 0;
  if (is_another && !pool_.is_draining()) return begin_asking(key, own.session);
  end_asking(key, false);
  look_again();
}

void ListedFilter::on_end(const call::Call& call, call::End& end) {
  const State* const state = states_.find(call.slots);
  const bool is_own = state != nullptr && state->is_own;
  if (is_own || !enders_.empty()) take_end(call, end, is_own ? state : nullptr);
}

void ListedFilter::take_end(const call::Call& call, call::End& end, const State* own) {
  for (ListJudge* const judge : enders_) judge->on_end(call, end);
  // Its session has ended.
  if (own == nullptr) return;
  requests_.remove(Key(own->scope, own->list));
  end_asking(Key(own->scope, own->list), false);
}

void ListedFilter::end_asking(const Key& key, bool is_known) {
  if ((key.first & kOfChild) != 0) return end_asking_child(key, is_known);
  Listing& listing = listings_[key];
  listing.is_asked = false;
  listing.is_known = is_known && !listing.has_changed;
  // There may be room at any time.
  if (!is_known && !listing.refusal) listing.not_before = now() + kAskAgain;
  chain_.release(*this);
}

void ListedFilter::end_asking_child(const Key& key, bool is_known) {
  Listing& listing = listings_[key];
  listing.is_asked = false;
  const uint64_t child = key.first & ~kOfChild;
  const bool is_gone = pool_.find_child(child) == nullptr;
  // The list has changed while it came.
  if (is_known && listing.has_changed && !is_gone && listing.failures++ < kMaxChanges) {
    return begin_asking(key, session::SessionId());
  }
  if (!is_known) listing.not_before = now() + kAskAgain;
  is_known = is_known && !listing.has_changed;
  if (is_known || is_gone) {
    recent_ = nullptr;
    listings_.erase(key);
  }
  const Place place(key.second, child);
  failed_.erase(place);
  if (!is_known && !is_gone) failed_.emplace(place, now() + kAskAgain);
  look_again();
}

bool ListedFilter::on_child_message(call::ChildMessage& message) {
  const call::ChildRef& child = message.child();
  for (size_t list = 0; list < kPinnedLists.size(); ++list) {
    if (message.method() != kPinnedLists[list].list.changed) continue;
    distrust(child.is_shared ? 0 : scope_of(child.session), list, child.number);
    forget(Key(kOfChild | child.number, list));
    for (ListJudge* const judge : judges_) judge->on_changed(list, child.number);
  }
  return true;
}

// A session that is parked has left its child before this one ends.
void ListedFilter::on_child_gone(const call::ChildRef& child) {
  const auto scope = scopes_.extract(child.number);
  forget_scope(scope ? scope.mapped() : child.is_shared ? 0 : scope_of(child.session));
  forget_scope(kOfChild | child.number);
  for (size_t list = 0; list < kPinnedLists.size(); ++list) {
    forget_compared(Place(list, child.number));
    failed_.erase(Place(list, child.number));
  }
  requests_.forget_child(child.number);
  for (ListJudge* const judge : judges_) judge->forget_child(child.number);
  look_again();
}

void ListedFilter::forget_scope(ListScope scope) {
  ++doubts_;
  recent_ = nullptr;
  for (auto listing = listings_.lower_bound(Key(scope, 0));
       listing != listings_.end() && listing->first.first == scope;) {
    listing->second.is_known = false;
    const bool is_over = scope != 0 && !listing->second.is_asked;
    listing = is_over ? listings_.erase(listing) : std::next(listing);
  }
}

// --- Calls that wait for a child ------------------------------------------------------------

bool ListedFilter::finds_compared(size_t list, uint64_t child) const {
  const bool is_compared = compared_.contains(Place(list, child));
  if (is_compared) compared_lately_[list].add(child);
  return is_compared;
}

void ListedFilter::forget_compared(const Place& place) {
  compared_lately_[place.first].clear();
  compared_.erase(place);
}

[[gnu::always_inline]] inline bool ListedFilter::suits(const call::Call& call, const State& state,
                                                       uint64_t child) const {
  if (!compared_lately_[state.list].has(child) && !finds_compared(state.list, child)) return false;
  const auto opposes = [&](const ListJudge& judge) { return !judge.suits(call, child); };
  return judge_of(state, opposes) == nullptr;
}

bool ListedFilter::admits(const call::Call& call, uint64_t child) {
  const State* const state = judged(call);
  if (state == nullptr || suits(call, *state, child)) return true;
  note_unsuited(call, Place(state->list, child));
  return false;
}

void ListedFilter::note_unsuited(const call::Call& call, const Place& place) {
  if (!compared_.contains(place) && !is_failing(place)) {
    if (std::ranges::find(wanted_, place) == wanted_.end()) wanted_.push_back(place);
    settle_timer_.arm(now());
  } else if (is_hopeless(call)) {
    look_again();
  }
}

void ListedFilter::look_again() {
  looks_again_ = true;
  settle_timer_.arm(now());
}

bool ListedFilter::is_failing(const Place& place) const {
  const auto failed = failed_.find(place);
  return failed != failed_.end() && now() < failed->second;
}

bool ListedFilter::may_get(const call::Call& call, const pool::Child& child) const {
  if (!child.keeps_bound()) return false;
  if (child.isolation() == config::Isolation::session) return call.session == child.lease();
  return !pool_.lane().has(call.session) &&
         (!call.route.is_bound || call.route.child == child.number());
}

bool ListedFilter::is_hopeless(const call::Call& call) const {
  const State& state = *judged(call);
  if (judge_of(state, [&](const ListJudge& one) { return one.forbids(call); }) != nullptr) {
    return true;
  }
  bool is_any = false;
  for (const auto& child : pool_.children()) {
    if (!may_get(call, *child)) continue;
    is_any = true;
    const Place place(state.list, child->number());
    if (is_failing(place)) continue;
    if (!compared_.contains(place) || suits(call, state, child->number())) return false;
  }
  return is_any;
}

void ListedFilter::give_up(call::CallPtr call) {
  ListJudge* const judge =
      judge_of(*judged(*call), [&](const ListJudge& one) { return one.forbids(*call); });
  if (judge != nullptr) return judge->refuse(std::move(call));
  refuse(std::move(call), rpc::faults::child_failed(
                              "what the server offers has changed, or could not be asked for"));
}

void ListedFilter::settle() {
  for (const Place& place : std::exchange(wanted_, {})) {
    // One without room is wanted again when it has some.
    const pool::Child* const child = pool_.find_child(place.second);
    if (child != nullptr && child->has_room_for_bound()) ask_child(place.first, place.second);
  }
  if (!std::exchange(looks_again_, false)) return;
  auto calls = pool_.take_waiting(
      [this](const call::Call& call) { return judged(call) != nullptr && is_hopeless(call); });
  for (call::CallPtr& call : calls) give_up(std::move(call));
}

}  // namespace stdgate::mcp
