// SessionRouter: the open sessions of one backend.
//
// A client sees requests of children under ids of the gateway's own, so that answers find their
// child although children may use the same ids. Everything that belongs to a session (its child,
// messages that wait for the child, questions to its client, subscriptions, its listener) is a part
// of it, or ends with it in end(), the one end of every session. SessionDelivery decides which
// sessions receive a child's messages. Owner: the backend. The pool calls it directly, as
// SessionEvents. Limits: config.pool.sessions, and as many again without a child; as many watches
// as config.pool.sessions; as many trips as config.pool.max and config.pool.queue together;
// Session::kMaxAsks; the limits of SharedWishes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gateway/backend/session_census.h"
#include "gateway/backend/session_journal.h"
#include "gateway/backend/session_questions.h"
#include "gateway/backend/shared_wishes.h"
#include "gateway/base/check.h"
#include "gateway/pool/pool.h"
#include "gateway/session/session.h"

namespace stdgate::backend {

// The rest of an ended session. The owner of the calls ends them.
struct EndedSession {
  session::Caller caller;
  std::unique_ptr<session::BridgedPart> bridged;  // null: none
  std::vector<call::CallPtr> calls;               // of its own child, and calls that waited for it
};

class SessionRouter final : public pool::SessionEvents {
 public:
  // `pool` may not be constructed yet.
  SessionRouter(const pool::PoolServices& services, pool::Pool& pool, session::Callers& callers,
                pool::Bridge& bridge, const Duration& input_timeout)
      : services_(services),
        pool_(pool),
        callers_(callers),
        bridge_(bridge),
        questions_(services, pool, sessions_, bridge, input_timeout),
        sessions_(limits_of(services.config.pool)),
        journal_(services),
        wishes_(services, pool) {}

  // `may_sleep`: the greeting may be answered without a child, so the session gets one only when it
  // needs it.
  tl::expected<session::SessionId, rpc::FaultReport> open(session::Caller caller,
                                                          session::SessionSink& sink,
                                                          const policy::Client& client,
                                                          bool may_sleep = false);
  // Opens a session that has begun in another process with `beginning`, without a child.
  tl::expected<session::SessionId, rpc::FaultReport> adopt(session::Caller caller,
                                                           session::SessionSink& sink,
                                                           const policy::Client& client,
                                                           const session::Beginning& beginning);
  // Opens a session that represents calls of clients without a session (RoundTrips). Its child is
  // to be told `told`.
  tl::expected<session::SessionId, rpc::FaultReport> open_trip(session::SessionSink& sink,
                                                               const pool::Knowledge& told,
                                                               const ClientAddress& client);
  // Opens the session whose client is asked the questions of shared children: before their first
  // call, and while a call has its turn (SharedQueues).
  tl::expected<session::SessionId, rpc::FaultReport> open_turns(session::SessionSink& sink) {
    const auto id = add(session::SessionKind::trip, session::Callers::kGateway, sink);
    if (id) turns_ = *id;
    return id;
  }
  [[nodiscard]] session::SessionId turns() const { return turns_; }
  [[nodiscard]] bool is_turn_taken() const { return pool_.is_turn_taken(); }
  // Opens a session for a call that listens for updates of these keys. Removes keys from `keys` if
  // there is no room for them.
  tl::expected<session::SessionId, rpc::FaultReport> open_watch(session::Caller caller,
                                                                session::SessionSink& sink,
                                                                std::vector<std::string>& keys);
  // Holds the session's calls back, or lets them continue; see SessionEvents::holds_calls().
  void hold_calls(session::SessionId id, bool holds) {
    if (session::Session* const session = sessions_.find(id)) session->holds_calls = holds;
  }
  // Ends the sessions of clients that are not admitted any more, and tells the clients.
  void end_unless(const std::function<bool(const policy::Principal*)>& is_admitted,
                  session::SessionEnd end, std::string_view message) {
    backend::end_unless(sessions_, is_admitted, end, message);
  }
  // The session is idle: ends its own child, if it has one. Refused if the session cannot be
  // without its child.
  session::Parking park(session::SessionId session);
  // A message of the session has come, which may need a child. An error: the session cannot have
  // one.
  tl::expected<void, rpc::FaultReport> use(session::SessionId session);
  // A child has answered the greeting (params) of the session's client.
  void introduce(session::SessionId session, std::string_view greeting);
  // Like use(), but for a message that needs no child.
  void touch(session::SessionId session);
  // The session has begun without a child.
  void begin_parked(session::SessionId session) { journal_.begin_parked(known(session)); }
  // Charges the facts about the session, which have changed.
  void charge(session::SessionId session);
  // Copies the facts about its session, if any, into the call.
  void name_in(call::Call& call) const;
  [[nodiscard]] SessionQuestions& questions() { return questions_; }
  // All sessions, or one, may have lost their own children. Then their messages are taken as for
  // all sessions that share children.
  void settle_reading() {
    const auto has_own_child = [this](session::SessionId id) { return pool_.lane().has(id); };
    first_reader_ = set_reading_all(sessions_, has_own_child, takes_messages(), first_reader_);
  }
  void settle_reading(session::SessionId id) {
    if (!pool_.lane().has(id)) known(id).set_reading(takes_messages());
  }
  // The client takes too little, or enough again.
  void hold_child(session::SessionId id, bool held) {
    if (session::Session* const session = sessions_.find(id)) session->is_held = held;
    pool_.lane().hold_child(id, held);
  }
  // The session has a child of its own again, or gets one: earlier settings still apply.
  void settle_lease(session::SessionId id) {
    charge(id);
    pool_.lane().hold_child(id, known(id).is_held);
    known(id).set_reading(true);
  }
  // Sessions that shared children get their own from now on, and are parked at first.
  void separate_all();
  // The client will not answer its questions, so they end with an error.
  void give_up_asks(session::SessionId id) {
    if (session::Session* const session = sessions_.find(id)) questions_.give_up(*session);
  }

  // The one end of every session, of clients or not, from whatever cause. Its child, the messages
  // that wait for the child, and its listener end with it, and children that wait for its answers
  // get an error. The caller withdraws the session's calls at shared children, and its listener's
  // calls. Then wishes().settle() ends subscriptions that no other session needs.
  [[nodiscard]] EndedSession end(session::SessionId session);
  // Subscriptions and log levels of sessions at shared children.
  [[nodiscard]] SharedWishes& wishes() { return wishes_; }
  [[nodiscard]] const SharedWishes& wishes() const { return wishes_; }
  // A child has gone: answers to its requests are dropped.
  void lose_child(uint64_t child) {
    questions_.of_children().lose_child(child);
    wishes_.lose_child(child);
  }
  // The session, if its client may be told anything; null: the session has ended, or is not open.
  [[nodiscard]] session::Session* listener(session::SessionId id) {
    session::Session* const session = sessions_.find(id);
    return session == nullptr || session->has_ended ? nullptr : session;
  }
  void tell(const session::Session& session, std::span<const std::string_view> parts) const {
    tell_client(services_, session, parts);
  }
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    sessions_.for_each([&](session::SessionId, const session::Session& one) { visit(one); });
  }
  [[nodiscard]] const session::Session* find(session::SessionId session) const {
    return sessions_.find(session);
  }
  [[nodiscard]] session::Session* find(session::SessionId session) {
    return sessions_.find(session);
  }
  [[nodiscard]] size_t size(session::SessionKind kind) const { return sessions_.size(kind); }
  void describe(pool::BackendStatus& status) const {
    status.session_places = pool_.session_places();
    status.watches = sessions_.size(session::SessionKind::watch);
    journal_.describe(sessions_, status);
  }

  // Passes on the client's answer to a request of a child. False: it answers none, or could be read
  // as a request.
  bool pass_answer(session::SessionId session, const rpc::Envelope& answer);
  // The child that waits for an answer of the session; 0: none.
  [[nodiscard]] uint64_t asking_child(session::SessionId id);

  // Calls visit(SessionId, Session&) for the sessions of clients.
  template <class Visitor>
  void for_each_of_client(Visitor&& visit) {
    sessions_.for_each([&](session::SessionId id, session::Session& session) {
      if (session.is_of_client()) visit(id, session);
    });
  }
  // Tells the session's client that these lists may have changed.
  void tell_changed_to(session::SessionId id, uint8_t lists);
  // Tells the client of each session that lists may have changed, although no child has reported
  // it. `lists_of(id)`: the lists for this session, as bits of the dialect.
  template <class Lists>
  void tell_changed(const Lists& lists_of);

  // See SharedWishes; sessions pay for their wishes.
  tl::expected<bool, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key) {
    auto is_to_ask = wishes_.subscribe(session, key);
    charge(session);
    return is_to_ask;
  }
  void finish_subscribe(const call::Call& call, std::string_view key, Outcome outcome);
  std::optional<uint64_t> unsubscribe(session::SessionId session, std::string_view key) {
    const auto child = wishes_.unsubscribe(session, key);
    charge(session);
    return child;
  }
  // A session that shares children wants log messages from this severity on.
  void set_severity(session::SessionId session, session::Severity severity);

  // Ends the process if an invariant is broken. Must not be called from within the core.
  void check_invariants();
  // Checks for check_invariants() that the caller and the session of a call exist.
  void check_owner(const call::Call& call) const {
    STDGATE_CHECK(call.caller.is_none() || is_there(call.caller));
    STDGATE_CHECK(call.session.is_none() || sessions_.find(call.session) != nullptr);
  }

 private:
  // SessionEvents
  void on_reading(session::SessionId session, bool reading) override;
  void on_session_served(session::SessionId id, pool::Child& child) override {
    journal_.serve(known(id), child);
  }
  void on_session_parked(session::SessionId id, ParkReason reason) override;
  void on_session_waking(session::SessionId session) override { journal_.wake(known(session)); }
  void on_session_begun(session::SessionId session) override { journal_.resume(known(session)); }
  void on_session_revived(session::SessionId session, RevivalOutcome outcome,
                          Duration since_request,
                          std::span<const std::string_view> notices) override;
  [[nodiscard]] bool holds_calls(session::SessionId id) const override {
    const session::Session* const session = sessions_.find(id);
    return session != nullptr && (session->holds_calls || asks_of(*session) > 0);
  }
  [[nodiscard]] bool awaits_answer(uint64_t child, session::SessionId id) const override {
    return questions_.awaits_answer(child, id);
  }
  [[nodiscard]] session::ClientHold hold_of(session::SessionId session) const override {
    const session::Session* const known = sessions_.find(session);
    STDGATE_CHECK(known != nullptr);
    return known->sink == nullptr ? session::ClientHold::connection : known->sink->hold();
  }
  void on_session_end(session::SessionId id, session::SessionEnd end,
                      std::string_view message) override {
    session::Session* const session = sessions_.find(id);
    if (session != nullptr) session->end(end, message);
  }

  [[nodiscard]] rpc::FaultReport too_many(
      session::SessionKind kind = session::SessionKind::client) const;
  [[nodiscard]] static rpc::FaultReport not_greeted() {
    return rpc::faults::because(rpc::Fault::invalid_request, "initialize is not answered yet");
  }
  bool park_longest_idle();
  // An open session.
  [[nodiscard]] session::Session& known(session::SessionId id) {
    session::Session* const session = sessions_.find(id);
    STDGATE_CHECK(session != nullptr);
    return *session;
  }
  [[nodiscard]] bool is_there(session::Caller caller) const {
    return caller == session::Callers::kGateway || callers_.find(caller) != nullptr;
  }
  // A session needs a client; calls that listen need a session that shares children, and a caller.
  void check_owned(session::SessionId id, const session::Session& session) const;
  static size_t asks_of(const session::Session& session) {
    return session.asks == nullptr ? 0 : session.asks->size();
  }
  static session::SessionTable::Limits limits_of(const config::PoolConfig& pool) {
    return {2 * size_t{pool.sessions}, size_t{pool.max} + pool.queue, pool.sessions};
  }
  tl::expected<session::SessionId, rpc::FaultReport> add(session::SessionKind kind,
                                                         session::Caller caller,
                                                         session::SessionSink& sink);
  // A connected client that has been silent so far needs no child, if the protocol lets clients
  // begin.
  [[nodiscard]] pool::LeaseStart start_of(const session::SessionSink& sink) const {
    const bool is_silent = sink.hold() == session::ClientHold::connection &&
                           !services_.dialect.traits().greeting_completion.empty();
    return is_silent ? pool::LeaseStart::when_needed : pool::LeaseStart::at_once;
  }
  // Whether the client may have one more session at work.
  tl::expected<void, rpc::FaultReport> check_count(const policy::ClientRef& client);
  // Whether a child may be taken for the client at once.
  tl::expected<void, rpc::FaultReport> check_starts(const ClientAddress& client);
  void count_start(const ClientAddress& client) {
    policy::ClientRates* const starts = services_.core.session_starts;
    if (starts != nullptr) starts->use(client, services_.core.clock.now());
  }
  // Whether the messages of sessions that share children are taken. With isolation `session`, a
  // session lacks a child of its own only for a moment. Then its messages are refused instead.
  [[nodiscard]] bool takes_messages() const {
    return reading_ || services_.config.isolation == config::Isolation::session;
  }
  [[nodiscard]] bool is_full() const {
    const size_t at_work = sessions_.size(session::SessionKind::client) - journal_.parked();
    return at_work >= services_.config.pool.sessions;
  }
  void tell_what_is_gone(session::Session& session);

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  session::Callers& callers_;
  pool::Bridge& bridge_;
  SessionQuestions questions_;  // before `sessions_`, whose questions are in its index
  session::SessionTable sessions_;
  SessionJournal journal_;
  session::SessionId turns_;  // see open_turns(); none: no turns
  SharedWishes wishes_;
  bool reading_ = true;        // the queues of shared children have room for more
  uint32_t first_reader_ = 0;  // place of the session that was told this first
  uint32_t next_look_ = 0;     // see longest_idle()
};

template <class Lists>
void SessionRouter::tell_changed(const Lists& lists_of) {
  sessions_.for_each([&](session::SessionId id, const session::Session& session) {
    if (!session.is_of_client()) return;
    for (const std::string_view notice : services_.dialect.change_notices(lists_of(id))) {
      tell(session, {&notice, 1});
    }
  });
}

}  // namespace stdgate::backend
