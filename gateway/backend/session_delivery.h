// Messages for clients that answer no call: what children say by themselves, and that rules have
// changed a list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gateway/backend/session_router.h"
#include "gateway/call/name_filter.h"
#include "gateway/call/rule_filter.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/pool_events.h"

namespace stdgate::backend {

// SessionDelivery: which sessions receive the messages of children.
//
//   child of one session     everything goes to that session
//   shared child             progress: the call's session (the backend knows the call)
//                            other notifications: the receivers that the dialect's Audience names
//                            requests: the session that owns all calls at the child, in flight
//                            or given up but not answered yet; without such a session, the child
//                            gets an error (-32601)
//
// A /rpc stream whose call is the only one at its shared child gets the child's notifications too.
// Owner: the backend. Children reach it through the chain's filters (ChainListener).
class SessionDelivery final : public pool::ChildMessages {
 public:
  // `methods`: learns the names of notifications.
  SessionDelivery(const pool::PoolServices& services, session::Callers& callers,
                  call::NameTable& methods, SessionRouter& sessions, const pool::Bridge& bridge,
                  const call::RuleFilter& rules)
      : services_(services),
        callers_(callers),
        methods_(methods),
        sessions_(sessions),
        bridge_(bridge),
        rules_(rules) {}

  void on_event(const call::Call& call, const rpc::Envelope& notification,
                TextPlace progress_token) override;
  void on_notification(pool::Child& child, const rpc::Envelope& notification,
                       std::string_view method) override;
  void on_request(pool::Child& child, const rpc::Envelope& request,
                  std::string_view method) override;

  // --- For ChainListener, see pool::ChildListener
  void on_spare_room(pool::Child& child) {
    if (!sessions_.wishes().is_settled()) sessions_.wishes().tell(child);
  }
  void on_child_gone(const pool::Child& child) { sessions_.lose_child(child.number()); }
  [[nodiscard]] TimePoint works_until(uint64_t child) const { return bridge_.needed_until(child); }
  [[nodiscard]] TimePoint needed_until(uint64_t child) const {
    return std::max(sessions_.wishes().needed_until(child), bridge_.needed_until(child));
  }

 private:
  // False: no session receives it.
  bool pass_notification(pool::Child& child, const rpc::Envelope& notification,
                         std::string_view method, const pool::Audience& audience);
  // Whether rules let a child say this to its client.
  bool may_say(const session::Session& session, const rpc::Envelope& message,
               std::string_view method);
  bool pass_to_everybody(const rpc::Envelope& notification);
  bool pass_to_subscribers(uint64_t child, const rpc::Envelope& notification, std::string_view key);
  bool pass_cancel(pool::Child& child, const rpc::Envelope& notification, std::string_view id);
  // False: there is no such stream, or it must not get the notification.
  bool pass_to_only_stream(pool::Child& child, const rpc::Envelope& notification,
                           const pool::Audience& audience);
  // Whether a log message of the child is for the session, or for a call without one (null). True
  // for other messages.
  [[nodiscard]] bool wants(const pool::Child& child, const session::Session* session,
                           const pool::Audience& audience) const {
    const auto wanted = session == nullptr ? std::nullopt : session->severity;
    return !audience.severity ||
           sessions_.wishes().passes(child.number(), wanted, *audience.severity);
  }
  // A stateless call gets log messages only from the level that it names, and no changes of lists.
  [[nodiscard]] bool wants_of_call(const pool::Child& child, const call::Call& call,
                                   const pool::Audience& audience) const;
  // Whether no client knows that it has the child alone, because the gateway is the child's client.
  [[nodiscard]] bool is_of_trip(const pool::Child& child) const {
    const session::Session* const session = sessions_.find(child.lease());
    return session != nullptr && !session->is_of_client();
  }
  [[nodiscard]] session::Session* only_session(pool::Child& child);
  // The session whose client this child asks; null: none.
  [[nodiscard]] session::Session* asked(pool::Child& child, const rpc::Envelope& request,
                                        std::string_view method);
  void note_passed(std::string_view method) {
    const MethodId learnt = methods_.learn(method, services_.core.clock.now());
    services_.core.observer.on_notification(services_.backend, learnt, Direction::to_client);
  }

  const pool::PoolServices& services_;
  session::Callers& callers_;
  call::NameTable& methods_;
  SessionRouter& sessions_;
  const pool::Bridge& bridge_;
  const call::RuleFilter& rules_;
  std::string key_;     // scratch
  std::string method_;  // scratch
};

// ListNotices: tells clients that their view of a list has changed although no child has reported
// it, because the rules have been replaced.
//
// Each client hears of the lists whose changes its child has promised to report. A session hears of
// it by a notification, a client that listens by an event of its call. Owner: the backend.
class ListNotices {
 public:
  // `pool` may not be constructed yet.
  ListNotices(const pool::PoolServices& services, const pool::Pool& pool, SessionRouter& sessions,
              const pool::Bridge& bridge)
      : services_(services), pool_(pool), sessions_(sessions), bridge_(bridge) {}

  // A shared child has gone. Its sessions still know what it has declared.
  void note_gone(const pool::Child& child);
  void tell();
  // Tells the calls that listen at shared children.
  void tell_listeners(uint8_t lists) const {
    for (const auto& child : pool_.children()) {
      tell_listeners(*child, static_cast<uint8_t>(lists & child->facts().changing_lists));
    }
  }

 private:
  void tell_listeners(pool::Child& child, uint8_t lists) const;

  const pool::PoolServices& services_;
  const pool::Pool& pool_;
  SessionRouter& sessions_;
  const pool::Bridge& bridge_;
  uint8_t of_gone_ = 0;  // declared by the last shared child
};

}  // namespace stdgate::backend
