// SessionListener: the ear of a session at modern children, which know no sessions: one call of the
// gateway's own that listens for the session (subscriptions/listen, MCP 2026-07-28).
//
// A client of the backend with a place of its own among the callers. The ListenerOwner decides what
// the call asks for, and when. Owner: the session.
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
  // A notification of a child, in the form for the call that listens.
  virtual void on_heard(const SessionListener& listener, std::string_view notification) = 0;
  // The call has ended, but not because the gateway has ended it.
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
  std::optional<TimePoint> due;  // when to listen again

 private:
  ListenerOwner& owner_;
};

}  // namespace stdgate::session
