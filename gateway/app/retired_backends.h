// RetiredBackends: backends that reloads have replaced, until they have finished their work.
//
// A backend that the configuration has removed or changed gets no new sessions, and only calls of
// its own sessions. Calls under way are finished, and sessions continue until they end or
// timeouts.drain has passed. Then calls get a fault, WebSockets end (1001), MCP sessions are
// forgotten, and connections to agents end; the next backend takes over sessions whose ids carry
// enough. Then the children are ended. The backend is destroyed after its last endpoint, which the
// exchanges that use it own. Owner: the generation. Checked after each turn of the loop; a timer
// covers deadlines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/mcp/mcp_sessions.h"
#include "transports/http/router.h"

namespace stdgate::app {

class RetiredBackends {
 public:
  // How often claims of children (call::ChildWork) are looked at, which expire without an event.
  static constexpr Duration kClaims = std::chrono::seconds(1);

  struct Services {
    const Clock& clock;
    TimerQueue& timers;
    Log& log;
    backend::Upstreams& backends;  // owner of the retired upstreams
    const Duration& drain;         // timeouts.drain, which may change
    // Called when for_each_served() would visit fewer upstreams.
    std::function<void()> reroute;
  };

  explicit RetiredBackends(Services services);

  // The connections to agents of a backend, and the endpoints through which clients reach them.
  struct Agents {
    std::unique_ptr<acp::AcpConnections> connections{};  // null: no agents
    std::shared_ptr<http::Endpoint> door{};              // of HTTP; leads to `socket`
    std::shared_ptr<http::Endpoint> socket{};
  };
  // `upstream`: a retired upstream of the backends. `sessions`: its MCP sessions; null: none.
  void add(backend::Upstream& upstream, std::unique_ptr<mcp::McpSessions> sessions, Agents agents);
  // The router has lost these endpoints. They lead to this backend, or to backends that may be
  // retired later.
  void note(const std::vector<std::shared_ptr<http::Endpoint>>& endpoints);

  // Calls visit(upstream, sessions) for each upstream with MCP sessions that may continue, the
  // latest first.
  template <class Visitor>
  void for_each_served(Visitor&& visit) const;
  // Calls visit(upstream, door) for each upstream with connections that may continue, the latest
  // first.
  template <class Visitor>
  void for_each_door(Visitor&& visit) const;
  // Calls visit(AcpConnections&) for each upstream with connections to agents.
  template <class Visitor>
  void for_each_connections(Visitor&& visit) const {
    for (const Retired& retired : retired_) {
      if (retired.agents.connections != nullptr) visit(*retired.agents.connections);
    }
  }
  // Calls visit(McpSessions&) for each upstream with MCP sessions.
  template <class Visitor>
  void for_each_sessions(Visitor&& visit) const {
    for (const Retired& retired : retired_) {
      if (retired.sessions != nullptr) visit(*retired.sessions);
    }
  }
  // The MCP sessions of the backend of this name that was retired last; null: none.
  [[nodiscard]] mcp::McpSessions* sessions_of(std::string_view name) const;
  // The door of the backend of this name that was retired last; null: none, or it is closed.
  [[nodiscard]] std::shared_ptr<http::Endpoint> door_of(std::string_view name) const;

  // After each turn of the loop.
  void look() {
    if (!retired_.empty() && !is_left_to_shutdown_) end_what_is_over();
  }

  // Shutdown ends the backends itself. Ends streams that only listen.
  void leave_to_shutdown();
  [[nodiscard]] bool has_sessions() const;
  void check_invariants() const;

 private:
  struct Retired {
    backend::Upstream* upstream;
    std::unique_ptr<mcp::McpSessions> sessions;
    Agents agents;
    TimePoint deadline;
    bool is_ending = false;  // its children have been asked to go
  };

  // An endpoint that may be in use, and the upstream behind it.
  struct Reach {
    const backend::Upstream* upstream;
    std::weak_ptr<const http::Endpoint> endpoint;
  };

  void end_what_is_over();
  // Its work is done, except for claims that it may hold.
  [[nodiscard]] bool is_idle(const backend::Upstream& upstream);
  void end(Retired& retired);
  [[nodiscard]] bool is_reachable(const backend::Upstream& upstream);

  const Services services_;
  std::vector<Retired> retired_;
  std::vector<Reach> reaches_;
  Timer wake_;
  bool is_left_to_shutdown_ = false;
};

template <class Visitor>
void RetiredBackends::for_each_served(Visitor&& visit) const {
  for (size_t i = retired_.size(); i > 0; --i) {
    const Retired& retired = retired_[i - 1];
    const bool is_served = !retired.is_ending && retired.sessions != nullptr &&
                           (retired.sessions->size() > 0 || retired.upstream->holds_work());
    if (is_served) visit(*retired.upstream, *retired.sessions);
  }
}

template <class Visitor>
void RetiredBackends::for_each_door(Visitor&& visit) const {
  for (size_t i = retired_.size(); i > 0; --i) {
    const Retired& retired = retired_[i - 1];
    if (retired.agents.door != nullptr) visit(*retired.upstream, retired.agents.door);
  }
}

}  // namespace stdgate::app
