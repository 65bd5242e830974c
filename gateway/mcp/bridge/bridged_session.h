// BridgedSession: what the bridge keeps for a session that shares children: how its requests are
// marked for modern children, and the call that listens for it there.
//
// Owner: the session.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/session/reply_sink.h"
#include "gateway/session/session.h"

namespace stdgate::mcp {

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

}  // namespace stdgate::mcp
