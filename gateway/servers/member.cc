#include "gateway/servers/member.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/config/backend_facts.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"
#include "gateway/schema/canonical_json.h"
#include "gateway/servers/aggregate.h"
#include "gateway/servers/server_messages.h"
#include "gateway/servers/virtual_session.h"
#include "gateway/session/reply_message.h"

namespace stdgate::servers {

namespace {

constexpr size_t kMaxReported = 20;  // findings of a list

// How long a result may be kept; nothing: it does not say.
std::optional<Duration> lasting_of(std::string_view result) {
  const std::string_view text = rpc::member_or_empty(result, "ttlMs");
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (text.empty() || error != std::errc() || ms < 0) return std::nullopt;
  return std::min<Duration>(std::chrono::milliseconds(ms), std::chrono::hours(1));
}

}  // namespace

// Hears of changes as long as the member is there.
class Member::Watch final : public backend::ListWatch {
 public:
  explicit Watch(Member& member) : member_(member) {}

  void on_lists_changed(uint8_t lists, std::string_view identity) override {
    member_.note_changed(lists, identity);
  }
  void on_restart(std::string_view identity) override { member_.note_restart(identity); }
  [[nodiscard]] size_t resting() const override {
    return member_.may_rest() ? member_.listening_.size() : 0;
  }
  void on_sleep() override { member_.rest(true); }
  void on_awake() override { member_.rest(false); }

 private:
  Member& member_;
};

Member::Member(const MemberServices& services, Aggregate& owner, const config::MemberConfig& config)
    : services_(services),
      owner_(owner),
      config_(config),
      listening_(services.core.clock, services.stamp, caller_),
      listen_timer_(services.core.timers, [this] { settle_listening(); }),
      state_(services.core.clock, services.core.log, services.server, config_.backend) {
  caller_.take(services_.callers, *this);
}

Member::~Member() = default;

void Member::note_changed(uint8_t lists, std::string_view identity) {
  for (auto& [key, view] : views_) {
    if (!identity.empty() && view->identity != identity) continue;
    for (size_t i = 0; i < kListKinds; ++i) {
      MemberList& list = view->lists[i];
      if ((facts_of(static_cast<ListKind>(i)).change & lists) == 0) continue;
      list.is_stale = list.is_told = true;
    }
  }
  owner_.on_lists_changed(*this, identity, lists);
}

void Member::note_restart(std::string_view identity) {
  for (auto& [key, view] : views_) {
    if (!identity.empty() && view->identity != identity) continue;
    for (MemberList& list : view->lists) list.is_stale = true;
    view->is_refused = false;
  }
}

void Member::detach() {
  cancel_own_calls();
  upstream_ = nullptr;
  watch_.reset();
  asks_.clear();
  views_.clear();
}

void Member::leave() {
  detach();
  has_left_ = true;
  listen_timer_.disarm();
}

void Member::succeed(const Member& former) {
  last_tag_ = former.last_tag_;  // answers to the former one's questions may still come
  ended_ = former.ended_;
}

void Member::attach(backend::Upstream* upstream, const config::BackendConfig* backend,
                    const std::vector<config::RoleConfig>& roles) {
  if (backend != nullptr) {
    rules_.emplace(*backend, roles);
    patience_ = config::start_time_of(*backend) + backend->timeout;
  }
  if (upstream == upstream_ && upstream != nullptr) return;
  // The former one is still there, and may outlive this.
  detach();
  upstream_ = upstream;
  is_resting_ = false;
  state_.begin();
  if (upstream == nullptr) return state_.note_absence("there is no such backend");
  has_principals_ = backend->isolation == config::Isolation::principal;
  may_refuse_ =
      backend->bridge == config::Bridge::off && backend->revision != config::Revision::modern;
  forgets_ = backend->isolation == config::Isolation::session &&
             backend->bridge == config::Bridge::automatic;
  advice_ = config::modern_clients_of_servers(*backend).advice;
  settle_listening();
  watch_ = std::make_shared<Watch>(*this);
  upstream->watch_lists(watch_);
}

void Member::forget(const MemberView& view) {
  std::erase_if(asks_, [&view](const auto& ask) { return ask.second.view == &view; });
}

MemberView& Member::view_of(const call::CallContext& context) {
  const bool is_modern = may_refuse_ && context.peer_kind == PeerKind::stateless;
  std::string identity;
  if (has_principals_) identity = policy::identity_of(context.principal);
  std::string_view key = is_modern ? "m" : "";
  std::string of_principal;
  if (has_principals_) key = of_principal.append(key).append(identity);
  const auto found = views_.find(key);
  if (found != views_.end()) {
    found->second->used = now();
    return *found->second;
  }
  make_room();
  auto view = std::make_unique<MemberView>();
  if (has_principals_ && context.principal != nullptr) view->principal = *context.principal;
  view->identity = identity;
  view->is_modern = is_modern;
  view->used = now();
  view->held = Share(services_.payer, Holding::caches);
  return *views_.emplace(key, std::move(view)).first->second;
}

MemberView* Member::common_view() {
  const auto found = views_.find("");
  return found == views_.end() ? nullptr : found->second.get();
}

const MemberList* Member::list_of_all(const MemberView& view, ListKind kind) {
  MemberView* const common = common_view();
  return common == nullptr || common == &view ? nullptr : &common->list(kind);
}

void Member::make_room() {
  if (views_.size() < kMaxViews) return;
  auto oldest = views_.end();
  for (auto view = views_.begin(); view != views_.end(); ++view) {
    const bool is_asked = std::ranges::any_of(view->second->lists, &MemberList::is_asked);
    if (is_asked) continue;
    if (oldest == views_.end() || view->second->used < oldest->second->used) oldest = view;
  }
  if (oldest != views_.end()) views_.erase(oldest);
}

Sight Member::sight_of(const policy::Principal* principal) const {
  return rules_ ? Sight::by(*rules_, principal) : Sight();
}

bool Member::is_settled(MemberView& view, ListKind kind, TimePoint since) const {
  const MemberList& list = view.list(kind);
  if (upstream_ == nullptr || caller_.is_none()) return true;
  if (list.is_asked) return list.is_late || now() >= waited_until(view, kind, since);
  return list.state != MemberList::State::unknown || view.is_refused;
}

bool Member::is_missing(MemberView& view, ListKind kind) const {
  const MemberList& list = view.list(kind);
  return view.is_refused || list.state != MemberList::State::known || list.is_asked;
}

bool Member::is_starting() const {
  return !state_.is_down() && upstream_ != nullptr &&
         upstream_->state() == pool::BackendState::starting;
}

std::string Member::why_missing() const {
  if (is_starting()) return "is still starting; try again in a minute";
  if (state_.failure().empty()) return "has not listed yet what it has";
  return "cannot be asked what it has: " + state_.failure();
}

void Member::note_missed(MemberView& view, ListKind kind) {
  MemberList& list = view.list(kind);
  list.is_missed = true;
  if (!list.is_asked) return;
  list.is_late = true;
  if (state_.is_down()) return;  // and why is known
  if (is_starting()) return state_.note_start();
  state_.note_absence("it has not answered " + std::string(facts_of(kind).method) + " in time");
}

// Many servers that start at once take longer than one list waits. The first list of a client that
// comes later waits again.
void Member::wait_for_start(MemberView& view, ListKind kind, TimePoint since) {
  MemberList& list = view.list(kind);
  if (since < list.waited + config_.wait || now() - list.asked >= kStart || !is_starting()) return;
  list.waited = now();
  list.is_late = false;
}

void Member::want(MemberView& view, ListKind kind, TimePoint since, bool waits_anew) {
  MemberList& list = view.list(kind);
  if (upstream_ == nullptr || caller_.is_none() || is_stopped_) return;
  if (list.is_asked && waits_anew) wait_for_start(view, kind, since);
  if (list.is_asked) return;
  if (list.state != MemberList::State::unknown) {
    if (list.answered >= since || (now() < list.until && !list.is_stale)) return;
    if (list.state == MemberList::State::failed && now() < list.until) return;
  }
  list.incoming = ElementList();
  list.pages = 0;
  list.is_asked = true;
  list.asked = list.waited = now();
  list.is_stale = false;
  // A server that sleeps is not started to say so again.
  MemberView* const greeted = view.part == nullptr ? &view : common_view();
  const bool is_none = !state_.is_down() && greeted != nullptr &&
                       greeting_lacks(greeted->list(ListKind::greeting).greeting, kind);
  if (is_none) return finish(view, kind, "{}");
  ask(view, kind, {});
}

void Member::retry() {
  if (now() < state_.retry_due()) return;
  for (auto& [key, view] : views_) {
    for (size_t i = 0; i < kListKinds; ++i) {
      const MemberList& list = view->lists[i];
      if (list.is_missed && !list.is_asked) want(*view, static_cast<ListKind>(i), now());
    }
  }
}

bool Member::has_failed() const {
  return std::ranges::any_of(views_, [](const auto& view) {
    return !view.second->is_refused &&
           std::ranges::any_of(view.second->lists, [](const auto& list) {
             return list.is_missed && (list.is_asked || list.state == MemberList::State::failed);
           });
  });
}

void Member::ask(MemberView& view, ListKind kind, std::string_view cursor) {
  const session::Tag tag = ++last_tag_;
  asks_[tag] = {&view, kind};
  std::string params;
  if (kind == ListKind::greeting) {
    params = services_.greeting;
  } else {
    params += '{';
    if (view.is_modern) params.append(R"("_meta":{)").append(services_.stamp).append("}");
    if (!cursor.empty()) {
      params.append(view.is_modern ? "," : "").append(R"("cursor":)").append(cursor);
    }
    params += '}';
  }
  std::string text =
      rpc::request_text("\"stdgate-" + std::to_string(tag) + "\"", facts_of(kind).method, params);
  if (view.part != nullptr) return view.part->ask(tag, std::move(text));
  const rpc::KnownMessage known(text);
  call::CallContext context;
  context.caller = caller_.caller();
  context.tag = tag;
  context.arrived = now();
  context.is_own = true;
  context.timeout = patience_;
  // The greeting tells the same to all.
  if (view.is_modern && kind != ListKind::greeting) context.peer_kind = PeerKind::stateless;
  if (view.principal) context.principal = &*view.principal;
  upstream_->accept({known.envelope()}, context);
}

void Member::note_modern_call() {
  if (!forgets_ || std::exchange(has_advised_, true)) return;
  if (upstream_->status().peer_kind == PeerKind::stateless) return;
  services_.core.log.write(LogLevel::info, "each call of a modern client has its own process",
                           {{"server", services_.server},
                            {"backend", name()},
                            {"advice", advice_ + ", in backends." + name()}});
}

void Member::cancel_own_calls() {
  if (upstream_ != nullptr && !caller_.is_none()) upstream_->cancel_calls_of(caller_.caller());
  listening_.forget();
}

void Member::stop() {
  is_stopped_ = true;
  cancel_own_calls();
  std::vector<Ask> ended;
  for (auto ask = asks_.begin(); ask != asks_.end();) {
    const auto current = ask++;
    if (current->second.view->part != nullptr) continue;  // it ends with the part
    ended.push_back(current->second);
    asks_.erase(current);
  }
  for (const Ask& ask : ended) fail(*ask.view, ask.kind, "it was cancelled");
}

void Member::settle_listening() {
  if (upstream_ == nullptr || caller_.is_none()) return;
  std::vector<const policy::Principal*> wanted;
  if (!has_principals_) {
    const bool is_here = services_.clients.any() && !(is_resting_ && may_rest());
    if (!is_stopped_ && is_here) wanted.push_back(nullptr);
  } else if (!is_stopped_) {
    for (const auto& [key, view] : views_) {
      const bool is_here = view->principal && services_.clients.has(view->identity);
      if (is_here) wanted.push_back(&*view->principal);
    }
  }
  listening_.settle(*upstream_, wanted, !may_rest());
}

void Member::listen_again() {
  if (!is_stopped_ && services_.clients.any()) listen_timer_.arm(now() + kRest);
}

void Member::on_cancelled(session::Tag tag) {
  if (listening_.note_end(tag)) return listen_again();
  const auto found = asks_.find(tag);
  if (found == asks_.end()) return;
  const Ask ask = found->second;
  asks_.erase(found);
  fail(*ask.view, ask.kind, "it was cancelled");
}

void Member::on_reply(session::Tag tag, const session::Reply& reply) {
  if (listening_.note_end(tag)) return listen_again();
  const auto found = asks_.find(tag);
  if (found == asks_.end()) return;
  const Ask ask = found->second;
  asks_.erase(found);
  const session::ReplyMessage returned(reply);
  const rpc::Envelope& answer = returned.envelope();
  if (answer.kind == rpc::MessageKind::result) {
    return take_page(*ask.view, ask.kind, answer.payload);
  }
  const auto code = rpc::error_code(answer);
  if (ask.view->is_modern && ask.kind != ListKind::greeting &&
      code == rpc::rpc_error_code(rpc::RpcError::unsupported_version)) {
    ask.view->is_refused = true;
    if (!std::exchange(has_advised_, true)) {
      services_.core.log.write(LogLevel::info, "modern clients do without a member",
                               {{"server", services_.server},
                                {"backend", name()},
                                {"advice", advice_ + ", in backends." + name()}});
    }
    return finish(*ask.view, ask.kind, "{}");
  }
  const bool is_none =
      !reply.fault && (code == rpc::rpc_error_code(rpc::RpcError::method_not_found));
  if (is_none) return finish(*ask.view, ask.kind, "{}");
  std::string cause = error_text(answer.payload);
  // Overload is only the effect; the cause is the failure that made the backend refuse calls.
  if (reply.fault == rpc::Fault::overloaded) {
    const std::string why =
        state_.failure().empty() ? upstream_->status().reason : state_.failure();
    if (!why.empty()) cause = why;
  }
  fail(*ask.view, ask.kind, std::move(cause));
}

void Member::take_page(MemberView& view, ListKind kind, std::string_view result) {
  if (kind == ListKind::greeting) return finish(view, kind, result);
  MemberList& list = view.list(kind);
  std::vector<Finding> findings;
  list.incoming.add_page(kind, result, config_, findings);
  const std::string_view cursor = rpc::member_or_empty(result, "nextCursor");
  const bool has_more = cursor.starts_with('"') && ++list.pages < kMaxPages;
  charge(view);
  // An unchanged list is no news.
  if (list.state != MemberList::State::known || list.incoming.digest() != list.elements->digest()) {
    report(kind, findings);
  }
  if (has_more) return ask(view, kind, cursor);
  finish(view, kind, result);
}

void Member::finish(MemberView& view, ListKind kind, std::string_view result) {
  MemberList& list = view.list(kind);
  list.is_asked = false;
  list.answered = now();
  const bool is_other = !is_same(list.incoming, *list.elements);
  // Before a session had a child of its own, its client saw what all see.
  MemberView* const common = view.part == nullptr ? nullptr : common_view();
  const bool was_common = list.state == MemberList::State::unknown && common != nullptr &&
                          common->list(kind).state == MemberList::State::known;
  const bool was_seen = list.state == MemberList::State::known;
  // Clients have asked for the changes that they were told of.
  const bool is_news = list.is_missed || (was_seen && is_other && !list.is_told) ||
                       (was_common && !is_same(list.incoming, *common->list(kind).elements));
  const MemberList* const others = list_of_all(view, kind);
  if (others != nullptr && others->elements->digest() == list.incoming.digest()) {
    list.elements = others->elements;
  } else {
    list.elements = std::make_shared<const ElementList>(std::move(list.incoming));
  }
  list.incoming = ElementList();
  if (kind == ListKind::greeting) list.greeting = result;
  list.state = MemberList::State::known;
  list.is_missed = list.is_told = list.is_late = false;
  list.failure.clear();
  list.until = now() + lasting_of(result).value_or(kUntold);
  charge(view);
  state_.note_answer();
  settle_listening();
  owner_.on_lists(*this, view, is_news && !view.is_refused ? facts_of(kind).change : uint8_t{0});
}

// Some servers write the same schemas in another order for clients of the other era.
bool Member::is_same(const ElementList& one, const ElementList& other) {
  if (one.digest() == other.digest()) return true;
  return std::ranges::equal(one.all(), other.all(), [](const Element& a, const Element& b) {
    if (a.text == b.text) return true;
    const auto one_text = schema::canonical_json(a.text);
    return one_text && one_text == schema::canonical_json(b.text);
  });
}

void Member::charge(MemberView& view) {
  size_t bytes = sizeof(MemberView);
  for (size_t i = 0; i < kListKinds; ++i) {
    const MemberList& list = view.lists[i];
    const MemberList* const others = list_of_all(view, static_cast<ListKind>(i));
    bytes += list.greeting.size() + list.incoming.bytes();
    if (others == nullptr || others->elements != list.elements) bytes += list.elements->bytes();
  }
  view.held.set(bytes);
}

void Member::fail(MemberView& view, ListKind kind, std::string cause) {
  MemberList& list = view.list(kind);
  list.is_asked = false;
  list.answered = now();
  list.state = MemberList::State::failed;
  list.failure = std::move(cause);
  list.until = now() + kRest;
  state_.note_failure(list.failure);
  owner_.on_lists(*this, view, 0);
}

void Member::report(ListKind kind, const std::vector<Finding>& findings) const {
  size_t count = 0;
  for (const Finding& finding : findings) {
    if (++count > kMaxReported) break;
    services_.core.log.write(LogLevel::warn, "element of a member",
                             {{"server", services_.server},
                              {"backend", name()},
                              {"list", facts_of(kind).method},
                              {"element", finding.element},
                              {"what", finding.what}});
  }
}

}  // namespace stdgate::servers
