// SessionListening: at modern children, which know no sessions, the gateway listens on behalf of
// legacy sessions (subscriptions/listen, MCP 2026-07-28): for changes of lists, and for updates of
// what a session has subscribed to.
//
// Each session has one such call, which its client does not know. The gateway makes the call as a
// client of the backend, with the principal of the session. Events reach the session without the
// tag of the stream. When the set changes, the call is ended and another one is made, once a turn.
// After a fault, the call is made again after kAgain. A session with a child of its own has no such
// call, because the child reports to it directly. Owner: the bridge; the listeners belong to their
// sessions. Limits: those of Subscriptions for a session.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/pool/pool_services.h"
#include "gateway/session/session.h"
#include "gateway/session/sinks.h"

namespace stdgate::mcp {

class McpDialect;
class SessionListening;

// SessionListener: the ear of a session at modern children, which know no sessions: one call of the
// gateway's own that listens for the session (subscriptions/listen, MCP 2026-07-28).
//
// A client of the backend with a place of its own among the callers. SessionListening decides what
// the call asks for, and when.
class SessionListener final : public session::ReplySink {
 public:
  SessionListener(SessionListening& owner, session::SessionId session_of_it)
      : session(session_of_it), owner_(owner) {}

  void on_event(session::Tag tag, std::string_view notification) override;
  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_cancelled(session::Tag /*tag*/) override {}

  const session::SessionId session;
  session::CallerSlot slot;
  bool wants_lists = false;
  std::set<std::string, std::less<>> keys;
  size_t key_bytes = 0;
  Share held;  // of the keys
  bool is_listening = false;
  std::optional<TimePoint> due;  // when to listen again

 private:
  SessionListening& owner_;
};

// BridgedSession: what the bridge keeps for a session that shares children: how its requests are
// marked for modern children, and the call that listens for it there.
//
// Owner: the session.
class BridgedSession final : public session::BridgedPart {
 public:
  // Null: the bridge keeps nothing for the session.
  static BridgedSession* of(const session::Session& session) {
    return static_cast<BridgedSession*>(session.bridged.get());
  }
  static BridgedSession& made_for(session::Session& session) {
    if (session.bridged == nullptr) session.bridged = std::make_unique<BridgedSession>();
    return *of(session);
  }

  [[nodiscard]] session::Caller caller() const override {
    return listener == nullptr ? session::Caller() : listener->slot.caller();
  }
  [[nodiscard]] size_t bytes() const override { return sizeof(*this) + stamp.capacity(); }
  [[nodiscard]] std::vector<std::string> subscriptions() const override {
    if (listener == nullptr) return {};
    return {listener->keys.begin(), listener->keys.end()};
  }
  void stop_listening() override { listener.reset(); }

  bool is_askable = false;     // the greeting declares that the client can be asked
  std::string stamp;           // members of _meta that modern children demand; empty: not greeted
  size_t stamp_of_client = 0;  // length of the constant part of `stamp`
  std::unique_ptr<SessionListener> listener;  // null: nothing is listened for
};

class SessionListening {
 public:
  static constexpr Duration kAgain = std::chrono::seconds(5);

  // `backend` may not be constructed yet. `dialect`: see McpBridge.
  SessionListening(const pool::PoolServices& services, backend::Upstream& backend,
                   backend::SessionRouter& sessions, const pool::Pool& pool,
                   session::Callers& callers, const McpDialect& dialect);

  // A modern child has greeted the session's client with this answer.
  void begin(session::SessionId session, const rpc::Envelope& discovery);
  // A session that was greeted elsewhere continues here; its former child may have promised
  // changes.
  void go_on(session::SessionId session);
  // The server is awake: begins to listen for sessions that want only changes of lists.
  void go_on_all();
  // The server goes to sleep: ends the calls of such sessions, unless another call listens.
  // `calls`: number of calls that listen. Returns the sessions; empty: another call listens.
  std::vector<session::SessionId> fall_asleep(size_t calls);
  // The session subscribes to a key, or ends its subscription. An error: it has too many keys.
  tl::expected<void, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  // False: the session has not subscribed to the key.
  bool unsubscribe(session::SessionId session, std::string_view key);
  [[nodiscard]] bool wants(session::SessionId session, std::string_view key) const;

  // The members of _meta that a modern child demands of the session's requests; empty: the client
  // has not greeted.
  [[nodiscard]] std::string_view stamp_of(session::SessionId session) const;

  // A notification of a child, in the form for the call that listens.
  void on_heard(const SessionListener& listener, std::string_view notification);
  // The call has ended, but not because the gateway has ended it.
  void on_unheard(SessionListener& listener, const session::Reply& reply);

 private:
  // Null: there is no such session, the session has a child of its own, or there is no room for
  // another caller.
  SessionListener* listener_of(session::SessionId session);
  [[nodiscard]] SessionListener* known_listener_of(session::SessionId session) const;
  static SessionListener* known_listener_of(const session::Session& session);
  void listen_soon(SessionListener& listener);
  void settle();
  void listen(SessionListener& listener);
  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }

  const pool::PoolServices& services_;
  backend::Upstream& backend_;
  backend::SessionRouter& sessions_;
  const pool::Pool& pool_;
  session::Callers& callers_;
  const McpDialect& dialect_;
  Timer timer_;  // some listeners have to be settled
};

}  // namespace stdgate::mcp
