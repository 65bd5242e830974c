// SessionRouter: the open sessions of one backend, and who of them gets what a child says.
//
//   child of one session     everything goes to that session
//   shared child             progress: the call's session (the backend knows the call)
//                            other notifications: whom the dialect's Audience names
//                            requests: the session that all calls in flight there belong to; if
//                            there is none, the child is told so (-32601)
// A client sees requests of children under ids of the gateway's own, so that answers find back
// whatever ids several children use. Sessions that share children subscribe through the gateway: it
// ends what nobody wants any more, and subscribes anew where a child has gone.
// Owner: the backend. Limits: config.pool.sessions, Session::kMostAsks, those of Subscriptions.
#pragma once

#include <span>
#include <string_view>

#include "gateway/pool/pool.h"
#include "gateway/session/session.h"
#include "gateway/session/subscriptions.h"

namespace stdgate {

class SessionRouter {
 public:
  SessionRouter(const PoolServices& services, Pool& pool)
      : services_(services), pool_(pool), sessions_(services.config.pool.sessions) {}

  tl::expected<SessionId, FaultReport> open(Origin origin, SessionSink& sink);
  // Forgets the session; children that wait for an answer of it are told so. What it alone had
  // subscribed to is ended when the pool next tells of room, as it does after the withdrawal of its
  // calls.
  void close(SessionId session);
  [[nodiscard]] const Session* find(SessionId session) const { return sessions_.find(session); }
  [[nodiscard]] size_t size() const { return sessions_.size(); }

  // False: nobody is to get it.
  bool pass_notification(Child& child, const Envelope& notification, std::string_view method,
                         const Audience& audience);
  void pass_request(Child& child, const Envelope& request, std::string_view method);
  // The client's answer to a request of a child. False: it answers none.
  bool pass_answer(SessionId session, const Envelope& answer);
  // The child that has asked the session something; 0: none.
  [[nodiscard]] uint64_t asking_child(SessionId session);

  // A session that shares children wants to subscribe. Whether a child is to be asked, and
  // finish_subscribe() to follow; else the session has subscribed already.
  tl::expected<bool, FaultReport> subscribe(SessionId session, std::string_view key);
  void finish_subscribe(const Call& call, Outcome outcome);
  // Whether what the child tells subscribers may be a session's.
  [[nodiscard]] bool tells_sessions(uint64_t child) const {
    return subscriptions_.has_or_had_any(child);
  }
  // Somebody, with or without a session, does not want it any more. The number of the child that is
  // to be asked, 0 for any; nothing: it is done, or others want it still.
  std::optional<uint64_t> unsubscribe(SessionId session, std::string_view key);

  // See PoolEvents.
  void settle(Child& child);
  // Its subscriptions go to other children; an answer to what it has asked finds nobody any more.
  void lose_child(uint64_t number);
  [[nodiscard]] bool is_needed(uint64_t child) const { return subscriptions_.has_any(child); }
  void set_reading(SessionId session, bool reading);
  void end(SessionId session, SessionEnd end, std::string_view message);

 private:
  [[nodiscard]] Session* only_session(Child& child);
  bool pass_to_subscribers(uint64_t child, const Envelope& notification, std::string_view key);
  void settle_all();
  bool pass_cancel(Child& child, const Envelope& notification, std::string_view id);
  void tell(const Session& session, std::span<const std::string_view> parts);

  const PoolServices& services_;
  Pool& pool_;
  SlotMap<Session> sessions_;
  Subscriptions subscriptions_;
  std::string key_;      // scratch
  bool reading_ = true;  // of those that share children
};

}  // namespace stdgate
