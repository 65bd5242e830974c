// Generation: the upstreams, sessions and rules that a configuration serves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/app/dialects.h"
#include "gateway/app/retired_backends.h"
#include "gateway/backend/upstream.h"
#include "gateway/call/name_filter.h"
#include "gateway/config/config.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/mcp/server_memory.h"
#include "gateway/pool/pool_services.h"
#include "gateway/servers/virtual_server.h"
#include "transports/auth/authenticators.h"
#include "transports/auth/tickets.h"
#include "transports/http/admission.h"
#include "transports/http/router.h"

namespace stdgate::app {

// --- The upstream of a backend: a pool of children, or a pool for each principal

// The services that make_upstream() hands to an upstream. All of them outlive the upstreams.
struct UpstreamServices {
  const pool::CoreServices& core;
  session::Callers& callers;
  const GatewayIdentity& identity;
  // The gateway's own; children inherit the variables that their configuration names.
  const std::map<std::string, std::string>& environment;
  mcp::ServerMemories& memories;  // remembered answers of MCP servers that sleep
};

// Not started yet. `backend`: a member of `config`. `names`: the names that metrics tell apart at
// the backend with this id; outlive the upstream.
std::unique_ptr<backend::Upstream> make_upstream(const config::Config& config,
                                                 const config::BackendConfig& backend, BackendId id,
                                                 call::LabelNames& names,
                                                 const UpstreamServices& services);
// As make_upstream(), for a virtual server, whose members are attached later.
std::unique_ptr<servers::VirtualServer> make_server(const config::Config& config,
                                                    const config::ServerConfig& server,
                                                    BackendId id, call::LabelNames& names,
                                                    const UpstreamServices& services);

struct GenerationServices {
  UpstreamServices upstreams;
  session::SessionIds& session_ids;
  fetch::Fetcher& fetcher;
  auth::Tickets::RandomBytes fill_random;
};

// Generation: a configuration and everything that follows from it: backends, MCP sessions, rules,
// routes.
//
// Job: turn a Config into upstreams and routes, and change over to another Config by a reload. An
// unchanged backend keeps its children and sessions; any other one is retired. Loop, log, listeners
// and connections belong to the worker. Owner: the worker, which outlives it, together with all
// that GenerationServices lend. Limit: kMaxNames different backends since the start, because
// metrics keep their names.
class Generation {
 public:
  Generation(const config::Config& config, const GenerationServices& services);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // See config/config_changes.h. The change is one step: a request before it gets the former
  // configuration, a request after it the new one. New backends have been started.
  void take_over(const config::Config& config, const GenerationServices& services);
  // Whether there is room for the names of the new backends.
  [[nodiscard]] bool can_name(const config::Config& config) const;

  // Reports the names of all backends to a new observer.
  void introduce_backends(Observer& observer) const;

  [[nodiscard]] const config::Config& config() const { return config_; }
  [[nodiscard]] backend::Upstreams& backends() { return backends_; }
  [[nodiscard]] const backend::Upstreams& backends() const { return backends_; }
  [[nodiscard]] const http::Router& routes() const { return routes_; }
  // Judges at every listener who may call.
  [[nodiscard]] const http::AdmissionPolicy& policy() const { return policy_; }

  // Frees memory that only makes it faster.
  void drop_caches();
  // For MCP sessions, and connections to agents; see McpSessions and AcpConnections.
  size_t drop_replay(const Account* client, const std::function<bool()>& is_enough);
  size_t forget_sessions(const Account* client, const std::function<bool()>& is_enough);
  // The keys of all issuers whose tokens are accepted.
  [[nodiscard]] std::vector<auth::KeyFacts> key_facts() const {
    return authenticators_ == nullptr ? std::vector<auth::KeyFacts>()
                                      : authenticators_->key_facts();
  }

  // Whether any MCP session over HTTP, or connection to an agent, is open, perhaps at a retired
  // backend.
  [[nodiscard]] bool has_sessions() const;
  // Shutdown: ends streams that only listen.
  void drain_sessions();
  // After each turn of the loop.
  void end_turn() { retired_.look(); }
  // Ends the process if an invariant is broken. Must not be called from within the core.
  void check_invariants();

 private:
  static constexpr size_t kMaxNames = 4096;

  // The id and the names of a backend. They stay until the end, even if the backend is removed.
  struct Named {
    Named(BackendId own_id, size_t capacity, Observer& observer)
        : id(own_id), names(own_id, capacity, observer) {}

    const BackendId id;
    call::LabelNames names;
  };

  // The entry of a backend with this name; added if it is missing.
  Named& name_of(const std::string& name, const UpstreamServices& services);
  std::unique_ptr<backend::Upstream> make(const config::BackendConfig& backend,
                                          const UpstreamServices& services);
  std::unique_ptr<backend::Upstream> make(const config::ServerConfig& server,
                                          const UpstreamServices& services);
  // Keeps a running upstream that can serve its wanted configuration, and replaces the others.
  template <class Wanted>
  void replace(const std::vector<Wanted>& former, size_t offset, const std::vector<Wanted>& wanted,
               std::vector<std::unique_ptr<backend::Upstream>>& running,
               std::vector<backend::Upstream*>& started, const GenerationServices& services);
  // Tells virtual servers, retired ones too, which upstreams their members are.
  void attach_members();
  void replace_backends(const config::Config& former, const GenerationServices& services);
  void retire(std::unique_ptr<backend::Upstream> upstream);
  void add_routes(const GenerationServices& services);
  void add_mcp_routes(const GenerationServices& services);
  void route_to_retired();
  // Calls visit(McpSessions&) for each backend with MCP sessions, retired ones included.
  template <class Visitor>
  void for_each_sessions(Visitor&& visit) const {
    for (const auto& [upstream, sessions] : mcp_sessions_) visit(*sessions);
    retired_.for_each_sessions(visit);
  }
  // Calls visit(connections) for the connections to agents of all backends, retired ones too.
  template <class Visitor>
  void for_each_connections(Visitor&& visit) const {
    for (const auto& [upstream, connections] : acp_connections_) visit(*connections);
    retired_.for_each_connections(visit);
  }
  void add_acp_routes(const GenerationServices& services);
  // The agents of a backend that is being retired.
  RetiredBackends::Agents agents_of(std::unique_ptr<acp::AcpConnections> connections);
  acp::AcpConnections& connections_of(backend::Upstream& backend,
                                      const GenerationServices& services);
  mcp::McpSessions& sessions_of(backend::Upstream& backend, const GenerationServices& services);

  // Each member needs the ones before it, so they are destroyed in the reverse order.
  config::Config config_;
  std::map<std::string, Named> names_;
  backend::Upstreams backends_;
  RetiredBackends retired_;
  std::map<const backend::Upstream*, std::unique_ptr<mcp::McpSessions>> mcp_sessions_;
  std::map<const backend::Upstream*, std::unique_ptr<acp::AcpConnections>> acp_connections_;
  std::unique_ptr<auth::Authenticators> authenticators_;  // null: no credentials are needed
  auth::Tickets tickets_;
  http::AdmissionPolicy policy_;
  http::Router routes_;
};

}  // namespace stdgate::app
