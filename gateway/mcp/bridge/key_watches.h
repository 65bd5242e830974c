// KeyWatches: at legacy children, the gateway subscribes for calls of modern clients that listen
// for updates (subscriptions/listen, MCP 2026-07-28).
//
// Each such call has a session without a client of its own. So its keys are counted together with
// the keys of sessions: see Subscriptions. Owner: the bridge. Limits: the limits of sessions and
// of Subscriptions; keys beyond them are not promised.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/mcp/bridge/modern_calls.h"
#include "gateway/session/reply_sink.h"

namespace stdgate::mcp {

class KeyWatches {
 public:
  KeyWatches(const pool::PoolServices& services, const ModernCalls& modern,
             backend::SessionRouter& sessions, session::Callers& callers);
  ~KeyWatches();
  KeyWatches(const KeyWatches&) = delete;
  KeyWatches& operator=(const KeyWatches&) = delete;

  // The call's client hears of updates of these keys from now on. Keys that cannot be watched are
  // removed from `keys`.
  void open(const call::Call& call, std::vector<std::string>& keys);
  // The call is over. Without effect for a call without a watch.
  void close(const call::Call& call);
  // Ends the process if an invariant is broken.
  void check_invariants() const;

 private:
  class Watch;

  void end(session::SessionId session);

  const pool::PoolServices& services_;
  const ModernCalls& modern_;
  backend::SessionRouter& sessions_;
  session::Callers& callers_;
  std::map<const call::Call*, std::unique_ptr<Watch>> watches_;  // a call does not move
};

}  // namespace stdgate::mcp
