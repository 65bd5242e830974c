// SessionListening: at modern children, which know no sessions, the gateway listens for those of
// older clients (subscriptions/listen, MCP 2026-07-28): for changes of lists, and for updates of
// what a session has subscribed to.
//
// A session has one such call, of which it knows nothing: the gateway is a client of the backend as
// others are, with the principal of the session. What comes reaches the session without its tag.
// When the set changes, the call is ended and another one made, once a turn. One that a fault has
// ended is made again after kAgain. Owner: the backend. Limits: kMaxKeys keys of a session,
// Subscriptions::kMaxKey bytes each and kMaxBytesPerSession together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/backend/session_router.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/timers.h"
#include "gateway/pool/pool_services.h"

namespace stdgate::backend {

class SessionListening {
 public:
  static constexpr size_t kMaxKeys = session::Subscriptions::kMaxPerSession;
  static constexpr Duration kAgain = std::chrono::seconds(5);

  // `backend` may not be constructed yet.
  SessionListening(const pool::PoolServices& services, Upstream& backend, SessionRouter& sessions,
                   session::Callers& callers);
  ~SessionListening();
  SessionListening(const SessionListening&) = delete;
  SessionListening& operator=(const SessionListening&) = delete;

  // A modern child has greeted the session's client with this answer.
  void begin(session::SessionId session, const rpc::Envelope& discovery);
  // A session goes on that was greeted elsewhere, where its child may have promised changes.
  void go_on(session::SessionId session);
  // The session wants to hear of a key, or not any more. An error: it has too many.
  tl::expected<void, rpc::FaultReport> subscribe(session::SessionId session, std::string_view key);
  void unsubscribe(session::SessionId session, std::string_view key);
  // The session with this caller is over, if there is one.
  void close(session::Caller caller);

 private:
  class Listener;
  struct CallerLess {
    bool operator()(session::Caller a, session::Caller b) const {
      return a.index != b.index ? a.index < b.index : a.generation < b.generation;
    }
  };

  // Null: there is no such session, or no more callers can be registered.
  Listener* listener_of(session::SessionId session);
  void settle();
  void arm(TimePoint due);
  void listen(Listener& listener);

  const pool::PoolServices& services_;
  Upstream& backend_;
  SessionRouter& sessions_;
  session::Callers& callers_;
  std::map<session::Caller, std::unique_ptr<Listener>, CallerLess>
      listeners_;  // by their session's
  Timer timer_;    // some are to be settled
};

}  // namespace stdgate::backend
