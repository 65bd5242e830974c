#include "gateway/backend/backend.h"

#include <algorithm>
#include <utility>

#include "gateway/backend/bridge_parts.h"
#include "gateway/backend/upstream.h"
#include "gateway/call/audit_filter.h"
#include "gateway/call/schema_filter.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::backend {

Backend::Backend(BackendId id, BackendOptions options, std::unique_ptr<pool::Dialect> dialect,
                 session::Callers& callers, const pool::CoreServices& core)
    : FilteredUpstream(id, std::move(static_cast<FilterOptions&>(options)), std::move(dialect),
                       callers, core),
      launch_(std::move(options.launch)),
      input_timeout_(options.input_timeout),
      services_{core,
                id,
                config(),
                FilteredUpstream::options().limits,
                launch_,
                FilteredUpstream::dialect(),
                call_store(),
                chain(),
                std::move(options.hide_secrets)},
      lists_(list_watches(), services_.dialect),
      has_peer_kinds_(!services_.dialect.traits().probe.empty()),
      bridge_(make_bridge(options.has_principals)),
      sessions_(services_, pool_, callers, *bridge_, input_timeout_),
      delivery_(services_, callers, known_names().methods(), sessions_, *bridge_, rules()),
      notices_(services_, pool_, sessions_, *bridge_),
      children_say_(chain(), delivery_, notices_, sleeping_),
      pool_(services_, *bridge_, sessions_, children_say_),
      memos_(sessions_, pool_, *bridge_, services_.dialect, chain(), call_store()) {
  launch_.payer = services_.payer;
  core.observer.on_session_places(id, pool_.session_places());
  if (options.make_sleeping) {
    sleeping_ = options.make_sleeping(
        {services_, *this, pool_, sessions_, memos_, notices_, *bridge_, list_watches()});
    if (const auto peer_kind = sleeping_->peer_kind()) pool_.assume_peer_kind(*peer_kind);
  }
  assemble();
  if (sleeping_ && sleeping_->has_no_sessions()) bridge_->share_as_before();
}

std::shared_ptr<pool::Bridge> Backend::make_bridge(bool has_principals) {
  const BridgeParts parts{*this,
                          config(),
                          services_,
                          pool_,
                          sessions_,
                          callers(),
                          traces(),
                          delivery_,
                          input_timeout_,
                          has_principals,
                          [this](bool shares) {
                            set_owns_children(!shares);
                            if (sleeping_) sleeping_->note_sessions(shares);
                          }};
  auto bridge = dialect().make_bridge(parts);
  return bridge ? std::move(bridge) : std::make_shared<pool::Bridge>();
}

// A request passes the filters in this order. Answers, faults and ends take the other direction.
void Backend::assemble() {
  using Place = pool::Bridge::Place;
  add_first_filters();
  // Rules judge and cut the words of the child; the filters above translate the result.
  bridge_->add_filters(Place::above_rules);
  // Before all filters that may answer in place of a child: rules cut their answers too.
  add_rules();
  // Below the rules, which cut its answer to rpc.discover. Above everything that changes messages
  // for a child.
  if (config().document.document) {
    chain().own<call::SchemaFilter>("schema", chain(), chain_services());
  }
  // Above the filters that keep lists: a client that asks again after a notice gets a new list.
  if (has_peer_kinds_) chain().add("lists", lists_);
  // Filters that judge by a server's lists. Above all filters that answer in place of the server,
  // so that their answers are judged too.
  bridge_->add_filters(Place::below_rules);
  // Before what concerns a child alone: while none runs, it answers in its place.
  if (sleeping_) sleeping_->add_to(chain());
  // Before the filters of the protocol: a client that no child can serve is told so, without asking
  // one.
  bridge_->add_filters(Place::above_children);
  bridge_->add_filters(Place::inner);
  // Behind all filters that may refuse a call: it counts the wishes of sessions.
  chain().add("sessions", memos_);
  // Below the filters that learn from answers: a refused greeting is made again elsewhere.
  bridge_->add_filters(Place::below_answers);
  add_trace();
  // Next to the children: questions and their answers are no end of a call.
  bridge_->add_filters(Place::at_pool);
  chain().add("pool", end_);
}

void Backend::set_limits(const config::LimitsConfig& limits,
                         const config::TimeoutsConfig& timeouts) {
  FilteredUpstream::set_limits(limits, timeouts);
  input_timeout_ = timeouts.input;
}

void Backend::set_rules(const config::BackendConfig& backend,
                        const std::vector<config::RoleConfig>& roles) {
  if (!rules().replace(backend, roles)) return;
  if (rules().any()) {
    sessions_.end_unless([this](const policy::Principal* who) { return rules().serves(who); },
                         session::SessionEnd::denied, "no rule lets this client in any more");
  }
  notices_.tell();
  // Clients that listen have to ask again, and are judged again.
  end_listening();
}

// --- Requests -------------------------------------------------------------------------------

void Backend::take(call::CallPtr& call, const call::Request& request) {
  const auto& [text, method, intent, context] = request;
  call->greets = intent.greets;
  call->introduces = intent.introduces;
  call::Outgoing message(text);
  message.account = context.account;
  message.replaced = place_of(intent.replaced, text.text);
  message.replacement = intent.replacement;
  message.answered_by_handshake = intent.kind == call::ClientIntent::Kind::handshake;
  message.only_of_stateful = intent.only_of_stateful;
  if (call->listens) call->request = text.text;
  if (!intent.progress_token.empty()) {
    if (!call->listens) call->progress_token = intent.progress_token;
    // Tokens can only clash at a child of several clients.
    const bool is_shared = isolation_of(context) == config::Isolation::shared;
    if (is_shared) message.progress_token = place_of(intent.progress_token, text.text);
  }
  if (!has_peer_kinds_) return submit(std::move(call), text, message);
  const call::PeerChanges changes = bridge_->changes_of(text, context);
  message.inserted = changes.view();
  if (!call->route.written_for) call->route.written_for = changes.peer_kind;
  submit(std::move(call), text, message);
}

void Backend::submit(call::CallPtr&& call, const rpc::Envelope& request, call::Outgoing& message) {
  traces().tell_child(request, *call, message);
  call_store().index().add(*call);
  call->charge(services_.payer_for(message.account));
  if (call->alone && bridge_->take(call, message)) return;
  const auto taken = pool_.submit(call, message);
  if (taken) return;
  // The kind is not known yet; with this error, clients of both kinds go on as stateful ones.
  if (call->needs_stateless && !pool_.peer_kind()) {
    bridge_->on_wrong_peer_kind(std::move(call));
  } else {
    chain().on_fault(std::move(call), taken.error());
  }
}

// --- Notifications, cancels -----------------------------------------------------------------

Admission Backend::forward(const call::Notification& notification,
                           const call::ClientIntent& intent) {
  const auto& [text, method, context, session] = notification;
  if (bridge_->swallows(method, context)) return Admission::delivered;
  if (capacity().find_lack(context.account)) return refuse_notification();
  call::Outgoing message;
  message.text = text.text;
  message.account = context.account;
  message.completes_greeting = intent.memo == call::SessionMemo::completion;
  if (message.completes_greeting && sleeping_ && sleeping_->complete_greeting(context.session)) {
    return Admission::delivered;
  }
  const bool is_taken =
      sessions_.use(context.session) &&
      pool_.notify(context.session, sessions_.asking_child(context.session), message);
  return is_taken ? Admission::delivered : refuse_notification();
}

bool Backend::cancel_call(session::Caller caller, std::string_view id) {
  const auto tell = [this](const call::Call& ended) {
    session::ReplySink* const sink = callers().find(ended.caller);
    if (sink != nullptr) sink->on_cancelled(ended.tag);
  };
  if (const call::CallPtr held = chain().take_held(caller, id)) {
    // Questions are withdrawn on the stream of the call, which ends when its client is told.
    finish_cancelled(*held, pool::CancelReason::client_cancelled);
    tell(*held);
    return true;
  }
  call::CallPtr ended;
  if (!pool_.request_cancel(caller, id, &ended)) return false;
  if (ended) {
    // The client is told before other consequences of the end.
    tell(*ended);
    finish_cancelled(*ended, pool::CancelReason::client_cancelled);
  }
  return true;
}

std::vector<call::CallPtr> Backend::withdraw(session::Caller caller) {
  const auto is_its = [caller](const call::Call& call) { return call.caller == caller; };
  std::vector<call::CallPtr> calls = pool_.withdraw(is_its);
  for (call::CallPtr& call : chain().take_held(is_its)) calls.push_back(std::move(call));
  return calls;
}

void Backend::cancel(const std::vector<call::CallPtr>& calls) {
  for (const call::CallPtr& call : calls) finish_cancelled(*call, pool::CancelReason::client_left);
}

void Backend::end_listening() {
  for (const call::CallPtr& call :
       pool_.withdraw([](const call::Call& call) { return call.listens && !call.is_own; })) {
    bridge_->end_listening(*call);
  }
}

void Backend::drain() {
  pool_.drain();
  bridge_->drain();
  const auto listens = [](const call::Call& call) { return call.listens; };
  for (const call::CallPtr& call : pool_.withdraw(listens)) bridge_->end_listening(*call);
}

// --- Sessions -------------------------------------------------------------------------------

tl::expected<session::SessionId, rpc::FaultReport> Backend::open_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client) {
  auto obstacle = find_obstacle(client);
  if (obstacle) return tl::unexpected(*std::move(obstacle));
  return sessions_.open(caller, sink, client, sleeping_ && sleeping_->may_greet_sessions());
}

tl::expected<session::SessionId, rpc::FaultReport> Backend::adopt_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  auto obstacle = find_obstacle(client);
  if (obstacle) return tl::unexpected(*std::move(obstacle));
  auto session = sessions_.adopt(caller, sink, client, beginning);
  // Its former child may have promised changes. A session with a child of its own hears of them
  // there.
  if (session && pool_.peer_kind() == PeerKind::stateless) bridge_->go_on(*session);
  return session;
}

void Backend::close_session(session::SessionId id, std::string_view why) {
  if (sessions_.find(id) == nullptr) return;
  EndedSession ended = sessions_.end(id);
  std::vector<call::CallPtr> calls = std::move(ended.calls);
  // Also the calls elsewhere: at shared children, or nowhere because their client is being asked.
  for (call::CallPtr& call : withdraw(ended.caller)) calls.push_back(std::move(call));
  const session::Caller listens =
      ended.bridged == nullptr ? session::Caller() : ended.bridged->caller();
  if (!listens.is_none()) cancel(withdraw(listens));
  sessions_.wishes().settle();
  if (why.empty()) return cancel(calls);
  const auto report = rpc::faults::child_failed(std::string(why));
  for (const call::CallPtr& call : calls) {
    chain().answer_fault(*call, report, Outcome::cancelled(),
                         pool::cancel_reason_text(pool::CancelReason::client_left), false);
  }
}

// --- State ----------------------------------------------------------------------------------

bool Backend::gave(const rpc::Envelope& request, const call::CallContext& context) const {
  std::string scratch;
  const std::string_view method = request.decoded_method(scratch);
  return context.session.is_none() &&
         chain().gave({.context = context, .message = &request, .method = method});
}

bool Backend::holds_work() const {
  return std::ranges::any_of(pool_.children(), [this](const auto& child) {
    const call::ChildWork work = chain().work_of(child->number());
    return work.states > 0 || work.tasks > 0;
  });
}

pool::BackendStatus Backend::status() const {
  pool::BackendStatus status;
  status.name = name();
  sessions_.describe(status);
  pool_.describe(status);
  status.parked_calls = bridge_->parked() + bridge_->asking();
  for (pool::ChildStatus& child : status.children) {
    const call::ChildWork work = chain().work_of(child.number);
    child.states = work.states;
    child.tasks = work.tasks;
  }
  if (sleeping_) sleeping_->describe(status);
  return status;
}

void Backend::check_invariants() {
  pool_.check_invariants();
  sessions_.check_invariants();
  bridge_->check_invariants();
  const auto check = [this](const call::Call& call) { sessions_.check_owner(call); };
  pool_.for_each_call(check);
  chain().for_each_held(check);
}

}  // namespace stdgate::backend
