#include "gateway/backend/session_router.h"

#include <string>
#include <utility>

#include "gateway/pool/call_trace.h"

namespace stdgate::backend {

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::open(session::Caller caller,
                                                                       session::SessionSink& sink,
                                                                       const policy::Client& client,
                                                                       bool may_sleep) {
  const bool takes_child = services_.config.isolation == config::Isolation::session;
  const pool::LeaseStart start = may_sleep ? pool::LeaseStart::when_needed : start_of(sink);
  const bool takes_it_now = takes_child && start == pool::LeaseStart::at_once;
  if (takes_it_now) {
    if (const auto may = check_starts(client.address); !may) return tl::unexpected(may.error());
  }
  if (auto free = check_count({client.principal.get(), client.address}); !free) {
    return tl::unexpected(free.error());
  }
  if (is_full() && !park_longest_idle()) return tl::unexpected(too_many());
  auto id = add(session::SessionKind::client, caller, sink);
  if (!id) return id;
  journal_.identify(known(*id), client);
  if (takes_child) {
    const auto lease = pool_.open_lease(*id, start);
    if (!lease) {
      verbosity_.remove_session(std::nullopt);
      sessions_.close(*id);
      return tl::unexpected(lease.error());
    }
  }
  if (takes_it_now) count_start(client.address);
  journal_.open(known(*id));
  known(*id).held.move_to(services_.payer_for(client.account.get()));
  charge(*id);
  if (pool_.awaits_child(*id)) journal_.wake(known(*id));
  settle_reading(*id);
  settle_all();
  return *id;
}

tl::expected<void, rpc::FaultReport> SessionRouter::check_count(const policy::ClientRef& client) {
  if (!has_its_share(sessions_, client, services_.config, pool_.session_places())) return {};
  services_.core.observer.on_rejected(services_.backend, Rejection::sessions);
  return tl::unexpected(
      rpc::faults::rate_limited("too many sessions of this client", rpc::kRetryHint));
}

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::add(session::SessionKind kind,
                                                                      session::Caller caller,
                                                                      session::SessionSink& sink) {
  if (pool_.is_draining()) return tl::unexpected(rpc::faults::shutting_down());
  const auto id = sessions_.open(kind);
  if (!id) return tl::unexpected(too_many(kind));
  session::Session& session = known(*id);
  session.caller = caller;
  session.sink = &sink;
  if (session.is_of_client()) verbosity_.add_session(std::nullopt);
  return *id;
}

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::open_trip(
    session::SessionSink& sink, const pool::Knowledge& told, const ClientAddress& client) {
  if (const auto may = check_starts(client); !may) return tl::unexpected(may.error());
  auto id = add(session::SessionKind::trip, session::Callers::kGateway, sink);
  if (!id) return id;
  count_start(client);
  pool_.adopt_lease(*id, told);
  return id;
}

// Nobody has asked a child for them yet: they wait for one as if theirs had gone.
tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::open_watch(
    session::Caller caller, session::SessionSink& sink, std::vector<std::string>& keys) {
  const auto id = add(session::SessionKind::watch, caller, sink);
  if (!id) return id;
  std::erase_if(keys, [&](const std::string& key) { return !subscriptions_.await(*id, key); });
  settle_all();
  return id;
}

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::adopt(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  auto id = add(session::SessionKind::client, caller, sink);
  if (!id) return id;
  journal_.identify(known(*id), client);
  if (services_.config.isolation == config::Isolation::session)
    pool_.adopt_lease(*id, {.greeting = beginning.greeting, .revision = beginning.revision});
  known(*id).is_unproven = services_.config.isolation == config::Isolation::shared;
  known(*id).revision = beginning.revision;
  questions_.note_greeting(known(*id), beginning.greeting);
  journal_.adopt(known(*id), services_.dialect.client_label(beginning.greeting), beginning.age);
  known(*id).held.move_to(services_.payer_for(client.account.get()));
  charge(*id);
  settle_reading(*id);
  return *id;
}

void SessionRouter::charge(session::SessionId id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr) return;
  const pool::SessionMemory* const memory = pool_.memory_of(id);
  session->held.set(sizeof(session::Session) + session->greeting.capacity() +
                    session->stamp.capacity() + subscriptions_.bytes_of(id) +
                    (memory == nullptr ? 0 : memory->bytes()));
}

// Of those that share children and have nothing open. False: there is none.
bool SessionRouter::park_longest_idle() {
  const config::BackendConfig& config = services_.config;
  if (config.isolation == config::Isolation::session || !config.revive) return false;
  session::Session* const longest = longest_idle(sessions_, next_look_);
  if (longest == nullptr) return false;
  journal_.park(*longest, ParkReason::place_needed);
  return true;
}

tl::expected<void, rpc::FaultReport> SessionRouter::use(session::SessionId id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr) return {};
  if (session->awaits_era) return tl::unexpected(not_greeted());
  session->used = services_.core.clock.now();
  ++session->messages;
  if (session->state == SessionState::parked) {
    if (auto free = check_count({session->principal.get(), session->client}); !free) return free;
  }
  if (services_.config.isolation == config::Isolation::shared) {
    journal_.resume(*session);
    if (std::exchange(session->is_new_here, false)) tell_what_is_gone(*session);
    return {};
  }
  if (!pool_.is_parked(id)) return {};
  auto may = check_starts(session->client);
  if (may) count_start(session->client);
  return may;
}

tl::expected<void, rpc::FaultReport> SessionRouter::check_starts(const ClientAddress& client) {
  policy::ClientRates* const starts = services_.core.session_starts;
  const TimePoint now = services_.core.clock.now();
  const Duration wait = starts == nullptr ? Duration::zero() : starts->wait(client, now);
  if (wait == Duration::zero()) return {};
  return tl::unexpected(
      rpc::faults::rate_limited("too many children started for this client", wait));
}

// Nobody knows what the other process has offered.
void SessionRouter::tell_what_is_gone(session::Session& session) {
  const std::string_view notice = services_.dialect.restart_notice();
  tell(session, {&notice, 1});
  for (const std::string_view change : services_.dialect.change_notices(UINT8_MAX)) {
    tell(session, {&change, 1});
  }
}

void SessionRouter::separate_all() {
  sessions_.for_each([&](session::SessionId id, session::Session& session) {
    if (!session.is_of_client() || pool_.has_lease(id) || session.awaits_era) return;
    subscriptions_.close(id);
    if (session.greeting.empty()) {
      static_cast<void>(pool_.open_lease(id, pool::LeaseStart::when_needed));
    } else {
      pool_.adopt_lease(id, SessionQuestions::knowledge_of(session));
      if (session.state != SessionState::parked) journal_.park(session, ParkReason::child_ended);
    }
    session.listener.reset();
    settle_lease(id);
  });
}

EndedSession SessionRouter::end(session::SessionId id) {
  session::Session& session = known(id);
  EndedSession ended{session.caller, std::move(session.listener), {}};
  const auto asks = std::move(session.asks);
  if (session.is_of_client()) verbosity_.remove_session(session.severity);
  journal_.close(session);
  sessions_.close(id);
  subscriptions_.close(id);
  for (auto oldest = asks ? asks->oldest() : std::nullopt; oldest; oldest = asks->oldest()) {
    const session::Ask ask = asks->close(*oldest);
    if (ask.round != 0) continue;  // its call is withdrawn too
    child_that_asked(ask).refuse(ask.id, rpc::RpcError::internal_error, "the client has left");
  }
  if (pool_.has_lease(id)) ended.calls = pool_.close_lease(id);
  return ended;
}

// --- From a child ---------------------------------------------------------------------------

void SessionRouter::on_event(const call::Call& call, const rpc::Envelope& notification,
                             TextPlace progress_token) {
  const auto parts = with_replaced(notification.text, progress_token, call.progress_token);
  const session::Session* session = call.alone ? nullptr : listener(call.session);
  session::ReplySink* sink = call.wants_events ? callers_.find(call.caller) : nullptr;
  if (session == nullptr && sink == nullptr) return drop(DropReason::no_listener);
  note_passed(rpc::decode_string(notification.method, method_));
  services_.core.observer.on_message(services_.backend, Direction::to_client, parts);
  if (session != nullptr) {
    session->sink->on_message(call.tag, parts);
  } else {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    sink->on_event(call.tag, whole);
  }
}

void SessionRouter::on_notification(pool::Child& child, const rpc::Envelope& notification,
                                    std::string_view method) {
  const bool has_clients = child.isolation() == config::Isolation::shared || is_of_trip(child);
  const pool::Audience audience =
      has_clients ? services_.dialect.audience(notification, method) : pool::Audience();
  const bool is_passed = pass_notification(child, notification, method, audience);
  const bool is_streamed = services_.dialect.cancelled_by_child(notification, method).empty() &&
                           pass_to_only_stream(child, notification, audience);
  const bool is_listened = modern_.pass_to_listeners(child, notification, audience.list);
  if (is_passed || is_streamed || is_listened) {
    note_passed(method);
  } else {
    drop(DropReason::no_listener);
  }
}

// Notifications for subscribers do not go to the stream, nor do cancels of a child's own requests.
bool SessionRouter::pass_to_only_stream(pool::Child& child, const rpc::Envelope& notification,
                                        const pool::Audience& audience) {
  const call::Call* const only = child.calls().only();
  const bool is_of_subscribers = audience.kind == pool::Audience::Kind::subscribers &&
                                 subscriptions_.has_or_had_any(child.number());
  if (only == nullptr || !only->wants_events || is_of_subscribers ||
      !wants_of_call(child, *only, audience)) {
    return false;
  }
  if (!child.abandoned().empty()) {
    child.note_withheld();
    return false;
  }
  session::ReplySink* const sink = callers_.find(only->caller);
  if (sink == nullptr) return false;
  services_.core.observer.on_message(services_.backend, Direction::to_client,
                                     {&notification.text, 1});
  sink->on_event(only->tag, notification.text);
  child.life().note_heard();
  return true;
}

bool SessionRouter::pass_notification(pool::Child& child, const rpc::Envelope& notification,
                                      std::string_view method, const pool::Audience& audience) {
  const std::string_view cancelled = services_.dialect.cancelled_by_child(notification, method);
  if (!cancelled.empty()) return pass_cancel(child, notification, cancelled);
  if (child.isolation() == config::Isolation::session) {
    const session::Session* session = listener(child.lease());
    if (session != nullptr) tell(*session, {&notification.text, 1});
    return session != nullptr;
  }
  if (services_.config.isolation == config::Isolation::session) return false;
  switch (audience.kind) {
    case pool::Audience::Kind::everybody: {
      // Receivers that have to queue it share one copy.
      const SharedOffer offer(services_.core.storages, notification.text, services_.payer);
      bool is_told = false;
      sessions_.for_each([&](session::SessionId, const session::Session& session) {
        if (!session.is_of_client() || session.has_ended) return;
        tell(session, {&notification.text, 1});
        is_told = true;
      });
      return is_told;
    }
    case pool::Audience::Kind::caller: {
      const session::Session* session = only_session(child);
      if (session == nullptr || !wants(child, session, audience)) return false;
      child.life().note_heard();
      tell(*session, {&notification.text, 1});
      return true;
    }
    case pool::Audience::Kind::subscribers:
      break;
  }
  return pass_to_subscribers(child.number(), notification, rpc::decode_string(audience.key, key_));
}

bool SessionRouter::pass_to_subscribers(uint64_t child, const rpc::Envelope& notification,
                                        std::string_view key) {
  if (!subscriptions_.has_any(child) || key.size() > session::Subscriptions::kMaxKey) return false;
  for (; !key.empty(); key = services_.dialect.enclosing(key)) {
    const std::vector<session::SessionId>* subscribers = subscriptions_.find(child, key);
    if (subscribers == nullptr) continue;
    const SharedOffer offer(services_.core.storages, notification.text, services_.payer);
    for (const session::SessionId id : *subscribers) {
      const session::Session* const session = sessions_.find(id);
      STDGATE_CHECK(session != nullptr);
      tell(*session, {&notification.text, 1});
    }
    return true;
  }
  return false;
}

void SessionRouter::on_request(pool::Child& child, const rpc::Envelope& request,
                               std::string_view method) {
  if (child.isolation() == config::Isolation::shared || is_of_trip(child)) {
    const std::string_view result = services_.dialect.answer_child(method);
    if (!result.empty()) return child.answer(request.id, result);
  }
  session::Session* session = asked(child, request, method);
  if (session == nullptr || !session->sink->awaits_requests()) {
    modern_.note_ask(child, request, method);
    return child.refuse(request.id, rpc::RpcError::method_not_found,
                        "no client here takes requests");
  }
  if (!questions_.ask(*session, {child.number(), std::string(request.id)}, {}, request)) {
    child.refuse(request.id, rpc::RpcError::internal_error,
                 "the client has too many unanswered requests");
  }
}

// A child that was greeted for one client may ask what others have not declared.
session::Session* SessionRouter::asked(pool::Child& child, const rpc::Envelope& request,
                                       std::string_view method) {
  session::Session* const turns = listener(turns_);
  if (turns != nullptr && (is_turn_taken_ || !child.was_ready())) return turns;
  session::Session* const only = only_session(child);
  if (only == nullptr || turns == nullptr) return only;
  const auto ruling = services_.dialect.input()->judge(request, method, only->greeting);
  return ruling.verdict == pool::InputRuling::Verdict::allowed ? only : nullptr;
}

session::Session* SessionRouter::only_session(pool::Child& child) {
  if (child.isolation() == config::Isolation::session) return listener(child.lease());
  // The request may concern a call without a session; no other client may see it then.
  const auto only = child.calls().only_session();
  if (!only) return nullptr;
  // The child may still be reporting about an abandoned call.
  const pool::AbandonedCalls& abandoned = child.abandoned();
  const session::SessionId caller = only->is_none() ? abandoned.some_session() : *only;
  if (abandoned.are_all_of(caller)) return listener(caller);
  if (!only->is_none()) child.note_withheld();
  return nullptr;
}

bool SessionRouter::pass_cancel(pool::Child& child, const rpc::Envelope& notification,
                                std::string_view id) {
  const auto ask = questions_.of_children().find(child.number(), id);
  if (!ask) return false;
  const session::Session& session = ask->asks->session();
  tell(session,
       with_replaced(notification.text, place_of(id, notification.text), std::to_string(ask->id)));
  if (services_.dialect.cancel_ends_call()) {
    questions_.note_end(session.id, ask->asks->close(ask->id));
  }
  return true;
}

// --- From a client --------------------------------------------------------------------------

bool SessionRouter::pass_answer(session::SessionId id, const rpc::Envelope& answer) {
  session::Session* session = sessions_.find(id);
  const auto ask_id = rpc::parse_wire_id(answer.id);
  if (session == nullptr || session->asks == nullptr || !ask_id ||
      session->asks->find(*ask_id) == nullptr) {
    return false;
  }
  const session::Ask ask = session->asks->close(*ask_id);
  if (ask.round != 0) {
    rounds_.on_round_answer(ask.round, ask.id, &answer);
    return true;
  }
  call::Outgoing message;
  message.text = answer.text;
  message.replaced = place_of(answer.id, answer.text);
  message.replacement = ask.id;
  child_that_asked(ask).send_answer(message);
  questions_.note_end(id, ask);
  return true;
}

// --- Subscriptions ----------------------------------------------------------------------------

tl::expected<bool, rpc::FaultReport> SessionRouter::subscribe(session::SessionId session,
                                                              std::string_view key) {
  switch (subscriptions_.request(session, key)) {
    case session::Subscriptions::Request::ask:
      charge(session);
      return true;
    case session::Subscriptions::Request::held:
      return false;
    case session::Subscriptions::Request::too_long:
      return tl::unexpected(
          rpc::faults::too_large("the name of what is subscribed to is too long"));
    case session::Subscriptions::Request::too_many:
      break;
  }
  return tl::unexpected(rpc::faults::overloaded("this session has too many subscriptions"));
}

void SessionRouter::finish_subscribe(const call::Call& call, Outcome outcome) {
  using Answer = session::Subscriptions::Answer;
  const Answer answer = outcome == Outcome::ok()      ? Answer::granted
                        : outcome == Outcome::error() ? Answer::refused
                                                      : Answer::unknown;
  const uint64_t child = pool_.find_child(call.child) == nullptr ? 0 : call.child;
  subscriptions_.finish(call.session, call.subscription, child, answer);
  charge(call.session);
  settle_all();
}

std::optional<uint64_t> SessionRouter::unsubscribe(session::SessionId session,
                                                   std::string_view key) {
  const session::Subscriptions::Withdrawal withdrawal = subscriptions_.withdraw(session, key);
  charge(session);
  if (!withdrawal.known && !subscriptions_.is_wanted(key)) return 0;
  const pool::Child* child = withdrawal.known ? pool_.find_child(withdrawal.child) : nullptr;
  const bool can_tell = child != nullptr && pool_.can_ask(*child) &&
                        subscriptions_.take_unwanted(withdrawal.child, key);
  return can_tell ? std::optional(withdrawal.child) : std::nullopt;
}

void SessionRouter::set_severity(session::SessionId id, session::Severity severity) {
  session::Session& session = known(id);
  verbosity_.remove_session(session.severity);
  session.severity = severity;
  questions_.note_severity(session);
  verbosity_.add_session(session.severity);
  settle_all();
}

// A modern child is told with each request.
void SessionRouter::tell_what_is_wanted(pool::Child& child) {
  if (child.era() == Era::modern) return;
  if (!verbosity_.settled() && pool_.can_set_severity(child)) {
    const bool serves_calls = child.era() == Era::legacy && services_.dialect.logs(child.facts());
    const auto severity = verbosity_.take(child.number(), serves_calls);
    if (severity) pool_.set_severity(child, *severity);
  }
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.take_unwanted(child.number());
    if (!key) break;
    pool_.ask(child, [&](rpc::WireId id) { return services_.dialect.unsubscribe(id, *key); });
  }
  while (pool_.can_ask(child)) {
    const auto key = subscriptions_.adopt(child.number());
    if (!key) break;
    pool_.ask(child, [&](rpc::WireId id) { return services_.dialect.subscribe(id, *key); });
  }
}

// --- From the pool --------------------------------------------------------------------------

void SessionRouter::on_child_gone(const pool::Child& child) {
  const uint64_t number = child.number();
  questions_.of_children().lose_child(number);
  subscriptions_.lose_child(number);
  verbosity_.lose_child(number);
  settle_all();
}

void SessionRouter::on_session_revived(session::SessionId id, RevivalOutcome outcome,
                                       Duration since_request,
                                       std::span<const std::string_view> notices) {
  session::Session& session = known(id);
  journal_.revive(session, outcome, since_request);
  if (outcome == RevivalOutcome::other_revision || !session.is_of_client()) return;
  for (const std::string_view notice : notices) tell(session, {&notice, 1});
}

void SessionRouter::on_reading(session::SessionId id, bool reading) {
  if (!id.is_none()) {
    session::Session* const session = sessions_.find(id);
    if (session != nullptr && session->sink != nullptr) session->set_reading(reading);
    return;
  }
  reading_ = reading;
  settle_reading();
}

void SessionRouter::check_invariants() {
  size_t wishes = 0;
  size_t leases = 0;
  sessions_.for_each([&](session::SessionId id, session::Session& session) {
    check_owned(id, session);
    leases += pool_.has_lease(id) ? 1 : 0;
    wishes += session.severity ? 1 : 0;
    if (session.asks == nullptr) return;
    session::Asks& asks = *session.asks;
    for (auto ask = asks.oldest(); ask; ask = asks.next(*ask)) {
      if (asks.at(*ask).round == 0) static_cast<void>(child_that_asked(asks.at(*ask)));
    }
  });
  STDGATE_CHECK(leases == pool_.leases());
  STDGATE_CHECK(verbosity_.sessions() == sessions_.size(session::SessionKind::client));
  STDGATE_CHECK(verbosity_.sessions_with_wish() == wishes);
  subscriptions_.check_invariants(
      [this](session::SessionId id) { return sessions_.find(id) != nullptr; },
      [this](uint64_t child) { return pool_.find_child(child) != nullptr; });
}

}  // namespace stdgate::backend
