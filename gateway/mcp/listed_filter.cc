#include "gateway/mcp/listed_filter.h"

#include <algorithm>
#include <utility>

#include "gateway/call/call_clock.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/known_message.h"

namespace stdgate::mcp {

namespace {

std::string list_request(std::string_view method, std::string_view cursor, std::string_view stamp) {
  std::string text = R"({"jsonrpc":"2.0","id":0,"method":")" + std::string(method);
  text.append(R"(","params":{)");
  if (!cursor.empty()) text.append(R"("cursor":)").append(cursor).append(",");
  return text.append(R"("_meta":{)").append(stamp).append("}}}");
}

}  // namespace

ListedFilter::ListedFilter(const pool::FilterServices& services, const McpDialect& dialect,
                           std::span<const ListFacts> lists)
    : services_(services.services),
      pool_(services.pool),
      chain_(services.chain),
      lists_(lists),
      states_(services.services.calls.reserve<State>()),
      dialect_(dialect),
      settle_timer_(services.services.core.timers, [this] { settle(); }) {}

ListedFilter::Scope ListedFilter::scope_of(session::SessionId session) const {
  if (session.is_none() || services_.config.isolation != config::Isolation::session) return 0;
  return (uint64_t{session.generation} << 32U) + session.index + 1;
}

bool ListedFilter::is_known(Scope scope, size_t list) const {
  const auto listing = listings_.find(Key(scope, list));
  return listing != listings_.end() && listing->second.is_known;
}

void ListedFilter::forget(Scope scope, size_t list) {
  const auto listing = listings_.find(Key(scope, list));
  if (listing == listings_.end()) return;
  listing->second.is_known = false;
  listing->second.has_changed = true;
  listing->second.not_before = {};
}

// --- Calls ----------------------------------------------------------------------------------

void ListedFilter::review(call::CallPtr& call, const call::Request& request, size_t list) {
  place_ = call->at;
  if (is_known(scope_of(*call), list)) return judge(call, request);
  wait(call, request, list);
}

void ListedFilter::wait(call::CallPtr& call, const call::Request& request, size_t list) {
  const Key key(scope_of(*call), list);
  Listing& listing = listings_[key];
  if (pool_.is_draining()) return refuse(std::move(call), rpc::faults::shutting_down());
  if (!listing.is_asked && now() < listing.not_before) {
    return refuse(std::move(call),
                  rpc::faults::child_failed("what the server offers could not be asked for"));
  }
  if (!listing.is_asked || listing.until <= now()) listing.until = now() + kMaxWait;
  State& state = states_.of(call->slots);
  state.list = list;
  state.scope = key.first;
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
  listing.pages = 0;
  ask(key, session, {}, (key.first & kOfChild) != 0 ? key.first & ~kOfChild : 0);
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
    // It has changed while it came.
    if (!listing.is_asked && listing.has_changed) return wait(call, request, key.second);
    return refuse(std::move(call),
                  rpc::faults::child_failed("what the server offers could not be asked for"));
  }
  judge(call, request);
  if (call != nullptr) chain_.go_on(std::move(call), request);
}

void ListedFilter::refuse(call::CallPtr call, const rpc::FaultReport& report) {
  chain_.on_fault(std::move(call), report);
}

// --- Lists ----------------------------------------------------------------------------------

void ListedFilter::ask(const Key& key, session::SessionId session, std::string_view cursor,
                       uint64_t child) {
  ++listings_[key].pages;
  std::string text = list_request(lists_[key.second].method, cursor, dialect_.stamp());
  const rpc::KnownMessage known(text);
  const rpc::Envelope& request = known.envelope();
  call::CallPtr call = services_.calls.take();
  call->id = request.id;
  call->method_name = lists_[key.second].method;
  call->caller = session::Callers::kGateway;
  call->session = session;
  call->client_kind = PeerKind::stateless;
  call->transport = Transport::mcp;
  call->is_own = true;
  call->arrived = now();
  // Its answer comes no higher than here.
  call->at = static_cast<uint8_t>(place_ + 1);
  call::start_clock(*call, services_.config.timeout, services_.config);
  State& state = states_.of(call->slots);
  state.is_own = true;
  state.scope = key.first;
  state.list = key.second;
  call->route.child = child;
  call->route.is_bound = child != 0;
  call::Outgoing message;
  message.text = request.text;
  message.id = place_of(request.id, request.text);
  // A legacy child gets it without its stamp.
  const call::PeerChanges changes = dialect_.omissions(request);
  message.inserted = changes.view();
  if (!pool_.submit(call, message)) end_asking(key, false);
}

void ListedFilter::on_answer(call::CallPtr& call, call::Answer& answer) {
  const State* const state = states_.find(call->slots);
  place_ = call->at;
  if (state == nullptr || !state->is_own) return see(call, answer);
  take_page(std::move(call), answer);
}

void ListedFilter::take_page(call::CallPtr call, const call::Answer& answer) {
  const State& state = states_.of(call->slots);
  const Key key(state.scope, state.list);
  Listing& listing = listings_[key];
  Page page;
  page.scope = key.first;
  page.list = key.second;
  page.child = call->child;
  page.is_first = listing.pages == 1;
  page.is_asked = true;
  page.is_stale = listing.has_changed;
  // Pages of two children are no list.
  if (page.is_first) listing.from = call->child;
  if (listing.from != call->child) return fail_asking(key, call->session);
  if (answer.message.kind != rpc::MessageKind::result) {
    if (!takes_refusals() || !page.is_first) return end_asking(key, false);
    page.is_last = true;
    page.payload = "{}";
    learn(page);
    return end_asking(key, true);
  }
  page.payload = answer.payload;
  const std::string_view cursor = rpc::member_or_empty(answer.payload, "nextCursor");
  page.is_last = !cursor.starts_with('"');
  learn(page);
  if (page.is_last) return end_asking(key, true);
  if (listing.pages >= kMaxPages) return end_asking(key, false);
  ask(key, call->session, cursor, call->child);
}

void ListedFilter::on_fault(call::CallPtr& call, const rpc::FaultReport& /*report*/) {
  const State* const state = states_.find(call->slots);
  if (state == nullptr || !state->is_own) return;
  const Key key(state->scope, state->list);
  const call::CallPtr own = std::move(call);
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

// Its session has ended.
void ListedFilter::on_end(const call::Call& call, call::End& /*end*/) {
  const State* const state = states_.find(call.slots);
  if (state != nullptr && state->is_own) end_asking(Key(state->scope, state->list), false);
}

void ListedFilter::end_asking(const Key& key, bool is_known) {
  if ((key.first & kOfChild) != 0) return end_asking_child(key, is_known);
  Listing& listing = listings_[key];
  listing.is_asked = false;
  listing.is_known = is_known && !listing.has_changed;
  if (!is_known) listing.not_before = now() + kAskAgain;
  chain_.release(*this);
}

void ListedFilter::end_asking_child(const Key& key, bool is_known) {
  Listing& listing = listings_[key];
  listing.is_asked = false;
  const uint64_t child = key.first & ~kOfChild;
  const bool is_gone = pool_.find_child(child) == nullptr;
  // It has changed while it came.
  if (is_known && listing.has_changed && !is_gone && listing.failures++ < kMaxChanges) {
    return begin_asking(key, session::SessionId());
  }
  if (!is_known) listing.not_before = now() + kAskAgain;
  is_known = is_known && !listing.has_changed;
  if (is_known || is_gone) listings_.erase(key);
  const Place place{key.second, child};
  std::erase_if(failed_, [&](const auto& failed) { return failed.first == place; });
  if (!is_known && !is_gone) failed_.emplace_back(place, now() + kAskAgain);
  look_again();
}

bool ListedFilter::on_child_message(call::ChildMessage& message) {
  for (size_t list = 0; list < lists_.size(); ++list) {
    if (message.method() != lists_[list].change) continue;
    forget(message.child().is_shared ? 0 : scope_of(message.child().session), list);
    forget(kOfChild | message.child().number, list);
    on_changed(list, message.child().number);
  }
  return true;
}

void ListedFilter::on_child_gone(const call::ChildRef& child) {
  forget_scope(child.is_shared ? 0 : scope_of(child.session));
  forget_scope(kOfChild | child.number);
  std::erase_if(failed_, [&](const auto& failed) { return failed.first.child == child.number; });
  forget_child(child);
  look_again();
}

void ListedFilter::forget_scope(Scope scope) {
  for (auto listing = listings_.lower_bound(Key(scope, 0));
       listing != listings_.end() && listing->first.first == scope;) {
    listing->second.is_known = false;
    const bool is_over = scope != 0 && !listing->second.is_asked;
    listing = is_over ? listings_.erase(listing) : std::next(listing);
  }
}

// --- Calls that wait for a child ------------------------------------------------------------

bool ListedFilter::admits(const call::Call& call, uint64_t child) {
  const auto list = needed_list(call);
  if (!list) return true;
  const bool is_known = is_compared(*list, child);
  if (is_known && suits(call, child)) return true;
  const Place place{*list, child};
  if (!is_known && !is_failing(place)) {
    if (std::ranges::find(wanted_, place) == wanted_.end()) wanted_.push_back(place);
    settle_timer_.arm(now());
  } else if (is_hopeless(call, *list)) {
    look_again();
  }
  return false;
}

void ListedFilter::look_again() {
  looks_again_ = true;
  settle_timer_.arm(now());
}

bool ListedFilter::is_failing(const Place& place) const {
  return std::ranges::any_of(
      failed_, [&](const auto& failed) { return failed.first == place && now() < failed.second; });
}

bool ListedFilter::may_get(const call::Call& call, const pool::Child& child) const {
  if (!child.keeps_bound()) return false;
  if (child.isolation() == config::Isolation::session) return call.session == child.lease();
  return !pool_.lane().has(call.session) &&
         (!call.route.is_bound || call.route.child == child.number());
}

bool ListedFilter::is_hopeless(const call::Call& call, size_t list) const {
  bool is_any = false;
  for (const auto& child : pool_.children()) {
    if (!may_get(call, *child)) continue;
    is_any = true;
    if (is_failing({list, child->number()})) continue;
    if (!is_compared(list, child->number()) || suits(call, child->number())) return false;
  }
  return is_any;
}

void ListedFilter::give_up(call::CallPtr call) {
  chain_.on_fault(
      std::move(call),
      rpc::faults::child_failed("what the server offers has changed, or could not be asked for"));
}

void ListedFilter::settle() {
  for (const Place& place : std::exchange(wanted_, {})) {
    // One without room is wanted again when it has some.
    const pool::Child* const child = pool_.find_child(place.child);
    if (child != nullptr && child->has_room_for_bound()) ask_child(place.list, place.child);
  }
  if (!std::exchange(looks_again_, false)) return;
  auto calls = pool_.take_waiting([this](const call::Call& call) {
    const auto list = needed_list(call);
    return list && is_hopeless(call, *list);
  });
  for (call::CallPtr& call : calls) give_up(std::move(call));
}

}  // namespace stdgate::mcp
