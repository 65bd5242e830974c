#include "gateway/backend/session_router.h"

#include <string>
#include <utility>

#include "gateway/pool/session_memory.h"

namespace stdgate::backend {

namespace {

// The facts about the session that a child of its own has to be told.
pool::Knowledge knowledge_of(const session::Session& session) {
  pool::Knowledge known;
  known.greeting = session.greeting;
  known.severity = session.severity;
  known.revision = session.revision;
  if (session.bridged != nullptr) known.subscriptions = session.bridged->subscriptions();
  return known;
}

}  // namespace

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
    const auto lease = pool_.lane().open(*id, start);
    if (!lease) {
      wishes_.remove_session(std::nullopt);
      sessions_.close(*id);
      return tl::unexpected(lease.error());
    }
  }
  if (takes_it_now) count_start(client.address);
  journal_.open(known(*id));
  known(*id).held.move_to(services_.payer_for(client.account.get()));
  charge(*id);
  if (pool_.lane().awaits_child(*id)) journal_.wake(known(*id));
  settle_reading(*id);
  wishes_.settle();
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
  if (session.is_of_client()) wishes_.add_session();
  return *id;
}

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::open_trip(
    session::SessionSink& sink, const pool::Knowledge& told, const ClientAddress& client) {
  if (const auto may = check_starts(client); !may) return tl::unexpected(may.error());
  auto id = add(session::SessionKind::trip, session::Callers::kGateway, sink);
  if (!id) return id;
  count_start(client);
  pool_.lane().adopt(*id, told);
  return id;
}

// No child has been asked for these keys yet: they wait for one, as if their child had gone.
tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::open_watch(
    session::Caller caller, session::SessionSink& sink, std::vector<std::string>& keys) {
  const auto id = add(session::SessionKind::watch, caller, sink);
  if (!id) return id;
  std::erase_if(keys, [&](const std::string& key) { return !wishes_.await(*id, key); });
  wishes_.settle();
  return id;
}

tl::expected<session::SessionId, rpc::FaultReport> SessionRouter::adopt(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  auto id = add(session::SessionKind::client, caller, sink);
  if (!id) return id;
  journal_.identify(known(*id), client);
  if (services_.config.isolation == config::Isolation::session)
    pool_.lane().adopt(*id, {.greeting = beginning.greeting, .revision = beginning.revision});
  known(*id).is_unproven = services_.config.isolation == config::Isolation::shared;
  known(*id).revision = beginning.revision;
  bridge_.note_greeting(known(*id), beginning.greeting);
  journal_.adopt(known(*id), services_.dialect.client_label(beginning.greeting), beginning.age);
  known(*id).held.move_to(services_.payer_for(client.account.get()));
  charge(*id);
  settle_reading(*id);
  return *id;
}

void SessionRouter::charge(session::SessionId id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr) return;
  const pool::SessionMemory* const memory = pool_.lane().memory_of(id);
  session->held.set(sizeof(session::Session) + session->greeting.capacity() +
                    (session->bridged == nullptr ? 0 : session->bridged->bytes()) +
                    wishes_.bytes_of(id) + (memory == nullptr ? 0 : memory->bytes()));
}

rpc::FaultReport SessionRouter::too_many(session::SessionKind kind) const {
  if (kind != session::SessionKind::client) {
    return rpc::faults::overloaded("too many calls are served alone");
  }
  return rpc::faults::overloaded("too many sessions; raise backends." + services_.config.name +
                                 ".pool.sessions");
}

// Parks a session that shares children and has nothing open. False: no session can be parked.
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
  if (session->awaits_greeting) return tl::unexpected(not_greeted());
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
  if (!pool_.lane().is_parked(id)) return {};
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

// The session comes from another gateway process, which does not say what lists its child had. So
// all may have changed.
void SessionRouter::tell_what_is_gone(session::Session& session) {
  const std::string_view notice = services_.dialect.traits().restart_notice;
  tell(session, {&notice, 1});
  for (const std::string_view change : services_.dialect.change_notices(UINT8_MAX)) {
    tell(session, {&change, 1});
  }
}

void SessionRouter::separate_all() {
  sessions_.for_each([&](session::SessionId id, session::Session& session) {
    if (!session.is_of_client() || pool_.lane().has(id) || session.awaits_greeting) return;
    wishes_.close(id);
    if (session.greeting.empty()) {
      static_cast<void>(pool_.lane().open(id, pool::LeaseStart::when_needed));
    } else {
      pool_.lane().adopt(id, knowledge_of(session));
      if (session.state != SessionState::parked) journal_.park(session, ParkReason::child_ended);
    }
    if (session.bridged != nullptr) session.bridged->stop_listening();
    settle_lease(id);
  });
}

EndedSession SessionRouter::end(session::SessionId id) {
  session::Session& session = known(id);
  EndedSession ended{session.caller, std::move(session.bridged), {}};
  const auto asks = std::move(session.asks);
  if (session.is_of_client()) wishes_.remove_session(session.severity);
  journal_.close(session);
  sessions_.close(id);
  wishes_.close(id);
  for (auto oldest = asks ? asks->oldest() : std::nullopt; oldest; oldest = asks->oldest()) {
    const session::Ask ask = asks->close(*oldest, QuestionEnd::left);
    if (ask.round != 0) continue;  // its call is withdrawn too
    questions_.child_that_asked(ask).refuse(ask.id, rpc::RpcError::internal_error,
                                            "the client has left");
  }
  if (pool_.lane().has(id)) ended.calls = pool_.lane().close(id);
  return ended;
}

session::Parking SessionRouter::park(session::SessionId session) {
  if (pool_.lane().has(session)) {
    const session::Parking parking = pool_.lane().park(session);
    // No other code reports a session that has never had a child.
    const bool is_news =
        parking == session::Parking::parked && known(session).state == SessionState::live;
    if (is_news) journal_.park(known(session), ParkReason::idle);
    return parking;
  }
  if (!services_.config.revive) return session::Parking::refused;
  journal_.park(known(session), ParkReason::idle);
  return session::Parking::parked;
}

void SessionRouter::introduce(session::SessionId session, std::string_view greeting) {
  if (session::Session* const known = sessions_.find(session); known != nullptr) {
    bridge_.note_greeting(*known, greeting);
    journal_.introduce(*known, services_.dialect.client_label(greeting));
  }
}

void SessionRouter::touch(session::SessionId session) {
  if (session::Session* const known = sessions_.find(session); known != nullptr) {
    known->used = services_.core.clock.now();
    ++known->messages;
  }
}

void SessionRouter::name_in(call::Call& call) const {
  const session::Session* const known = sessions_.find(call.session);
  if (known == nullptr) return;
  call.session_name = known->name;
  call.revision = known->revision;
}

// --- Messages of clients --------------------------------------------------------------------

bool SessionRouter::pass_answer(session::SessionId id, const rpc::Envelope& answer) {
  session::Session* session = sessions_.find(id);
  const auto ask_id = rpc::parse_wire_id(answer.id);
  if (session == nullptr || session->asks == nullptr || !ask_id ||
      session->asks->find(*ask_id) == nullptr || answer.has_lookalikes) {
    return false;
  }
  questions_.note_answer(session->asks->at(*ask_id), answer);
  const bool is_result = answer.kind == rpc::MessageKind::result;
  const session::Ask ask =
      session->asks->close(*ask_id, is_result ? QuestionEnd::answered : QuestionEnd::refused);
  if (ask.round != 0) {
    bridge_.on_round_answer(ask.round, ask.id, &answer);
    return true;
  }
  call::Outgoing message;
  message.text = answer.text;
  message.replaced = place_of(answer.id, answer.text);
  message.replacement = ask.id;
  questions_.child_that_asked(ask).send_answer(message);
  questions_.note_end(id, ask);
  return true;
}

uint64_t SessionRouter::asking_child(session::SessionId id) {
  session::Session* const session = sessions_.find(id);
  if (session == nullptr || session->asks == nullptr) return 0;
  const auto oldest = session->asks->oldest();
  return oldest ? session->asks->at(*oldest).child : 0;
}

void SessionRouter::tell_changed_to(session::SessionId id, uint8_t lists) {
  const session::Session* const session = listener(id);
  if (session == nullptr) return;
  for (const std::string_view notice : services_.dialect.change_notices(lists)) {
    tell(*session, {&notice, 1});
  }
}

// --- Wishes ------------------------------------------------------------------------------------

void SessionRouter::finish_subscribe(const call::Call& call, std::string_view key,
                                     Outcome outcome) {
  wishes_.finish(call, key, outcome);
  charge(call.session);
  wishes_.settle();
}

void SessionRouter::set_severity(session::SessionId id, session::Severity severity) {
  session::Session& session = known(id);
  wishes_.replace_severity(std::exchange(session.severity, severity), severity);
  bridge_.note_severity(session);
  wishes_.settle();
}

// --- Events of the pool ---------------------------------------------------------------------

void SessionRouter::on_session_parked(session::SessionId id, ParkReason reason) {
  session::Session& session = known(id);
  journal_.park(session, reason);
  // A session without a client is useless without a child, and must not keep a place.
  if (!session.is_of_client())
    session.sink->on_session_end(session::SessionEnd::failed, "no child");
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

void SessionRouter::check_owned(session::SessionId id, const session::Session& session) const {
  STDGATE_CHECK(session.sink != nullptr && is_there(session.caller));
  if (session.bridged == nullptr || session.bridged->caller().is_none()) return;
  STDGATE_CHECK(session.is_of_client() && !pool_.lane().has(id));
  STDGATE_CHECK(callers_.find(session.bridged->caller()) != nullptr);
}

void SessionRouter::check_invariants() {
  size_t wishes = 0;
  size_t leases = 0;
  sessions_.for_each([&](session::SessionId id, session::Session& session) {
    check_owned(id, session);
    leases += pool_.lane().has(id) ? 1 : 0;
    wishes += session.severity ? 1 : 0;
    if (session.asks == nullptr) return;
    session::Asks& asks = *session.asks;
    for (auto ask = asks.oldest(); ask; ask = asks.next(*ask)) {
      if (asks.at(*ask).round == 0) static_cast<void>(questions_.child_that_asked(asks.at(*ask)));
    }
  });
  STDGATE_CHECK(leases == pool_.leases());
  wishes_.check_invariants(sessions_.size(session::SessionKind::client), wishes,
                           [this](session::SessionId id) { return sessions_.find(id) != nullptr; });
}

}  // namespace stdgate::backend
