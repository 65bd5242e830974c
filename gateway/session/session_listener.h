// SessionListener: what a session hears from modern children, which know no sessions: one call of
// the gateway's own that listens for it (subscriptions/listen, MCP 2026-07-28).
//
// A client of the backend with a place of its own among the callers. The ListenerOwner decides what
// it asks for, and when. Owner: the session.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/session/session_sink.h"

namespace stdgate::session {

class SessionListener;

class ListenerOwner {
 public:
  virtual ~ListenerOwner() = default;
  // A notification of a child, as the call that listens gets it.
  virtual void on_heard(const SessionListener& listener, std::string_view notification) = 0;
  // Its call has ended, but not by the gateway's own wish.
  virtual void on_unheard(SessionListener& listener, const Reply& reply) = 0;
};

class SessionListener final : public ReplySink {
 public:
  SessionListener(ListenerOwner& owner, SessionId session_of_it)
      : session(session_of_it), owner_(owner) {}

  void on_event(Tag /*tag*/, std::string_view notification) override {
    owner_.on_heard(*this, notification);
  }
  void on_reply(Tag /*tag*/, const Reply& reply) override { owner_.on_unheard(*this, reply); }
  void on_cancelled(Tag /*tag*/) override {}

  const SessionId session;
  CallerSlot slot;
  bool wants_lists = false;
  std::set<std::string, std::less<>> keys;
  size_t key_bytes = 0;
  Share held;  // of the keys
  bool is_listening = false;
  std::optional<TimePoint> due;  // to listen anew

 private:
  ListenerOwner& owner_;
};

}  // namespace stdgate::session
