// Generation: what a configuration serves, and the upstreams that it is made of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/app/dialects.h"
#include "gateway/app/retired_backends.h"
#include "gateway/backend/upstream.h"
#include "gateway/backend/upstreams.h"
#include "gateway/call/backend_names.h"
#include "gateway/config/config.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/mcp/server_memories.h"
#include "gateway/pool/pool_services.h"
#include "gateway/servers/virtual_server.h"
#include "transports/auth/authenticators.h"
#include "transports/auth/tickets.h"
#include "transports/http/admission.h"
#include "transports/http/router.h"

namespace stdgate::app {

// Makes what answers calls of a configuration's backends: a pool of children, or one for each
// principal.

// Outlives what is made.
struct UpstreamServices {
  const pool::CoreServices& core;
  session::Callers& callers;
  const GatewayIdentity& identity;
  // The gateway's own; children inherit the variables that their configuration names.
  const std::map<std::string, std::string>& environment;
  mcp::ServerMemories& memories;  // what MCP servers that sleep are remembered to say
};

// Not started yet. `backend` is one of `config`. `names`: the names that metrics tell apart at the
// backend with this id; they outlive it.
std::unique_ptr<backend::Upstream> make_upstream(const config::Config& config,
                                                 const config::BackendConfig& backend, BackendId id,
                                                 call::BackendNames& names,
                                                 const UpstreamServices& services);
// The same of a virtual server, whose members are attached later.
std::unique_ptr<servers::VirtualServer> make_server(const config::Config& config,
                                                    const config::ServerConfig& server,
                                                    BackendId id, call::BackendNames& names,
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
// Job: turn a Config into something that serves, and into another one by a reload: a backend that
// is as before keeps its children and sessions, any other one is retired. Loop, log, listeners and
// connections are the worker's. Owner: the worker, which outlives it with everything that it lends
// in GenerationServices. Limit: kMaxNames different backends from the start on, as metrics keep
// their names.
class Generation {
 public:
  Generation(const config::Config& config, const GenerationServices& services);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // See config/config_changes.h. In one step: of two requests the first is served by the former
  // configuration, the second by this one. Backends that are new have been started.
  void take_over(const config::Config& config, const GenerationServices& services);
  // Whether there is room for the names of its backends.
  [[nodiscard]] bool can_name(const config::Config& config) const;

  // Tells a new observer the names of all backends.
  void introduce_backends(Observer& observer) const;

  [[nodiscard]] const config::Config& config() const { return config_; }
  [[nodiscard]] backend::Upstreams& backends() { return backends_; }
  [[nodiscard]] const backend::Upstreams& backends() const { return backends_; }
  [[nodiscard]] const http::Router& routes() const { return routes_; }
  // Judges who may call, at every listener.
  [[nodiscard]] const http::AdmissionPolicy& policy() const { return policy_; }

  // Frees what is kept only to be faster.
  void drop_caches();
  // Of MCP sessions; see McpSessions.
  size_t drop_replay(const Account* client, const std::function<bool()>& is_enough);
  size_t forget_sessions(const Account* client, const std::function<bool()>& is_enough);
  // The keys of all issuers whose tokens are taken.
  [[nodiscard]] std::vector<auth::KeyFacts> key_facts() const {
    return authenticators_ == nullptr ? std::vector<auth::KeyFacts>()
                                      : authenticators_->key_facts();
  }

  // Whether any MCP session over HTTP is open, perhaps at a retired backend.
  [[nodiscard]] bool has_sessions() const;
  // Shutdown: MCP streams that only listen are ended.
  void drain_sessions();
  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants();

 private:
  static constexpr size_t kMaxNames = 4096;

  // The id and the names of a backend, which stay from start to end, whatever becomes of it.
  struct Named {
    Named(BackendId own_id, size_t capacity, Observer& observer)
        : id(own_id), names(own_id, capacity, observer) {}

    const BackendId id;
    call::BackendNames names;
  };

  // Room for the names of one with this name.
  Named& name_of(const std::string& name, const UpstreamServices& services);
  std::unique_ptr<backend::Upstream> make(const config::BackendConfig& backend,
                                          const UpstreamServices& services);
  std::unique_ptr<backend::Upstream> make(const config::ServerConfig& server,
                                          const UpstreamServices& services);
  // What was served is kept where it serves what is wanted too, else replaced.
  template <class Wanted>
  void replace(const std::vector<Wanted>& former, size_t offset, const std::vector<Wanted>& wanted,
               std::vector<std::unique_ptr<backend::Upstream>>& running,
               std::vector<backend::Upstream*>& started, const GenerationServices& services);
  // Virtual servers, retired ones too, get to know which upstreams their members are.
  void attach_members();
  void replace_backends(const config::Config& former, const GenerationServices& services);
  void retire(std::unique_ptr<backend::Upstream> upstream);
  void add_routes(const GenerationServices& services);
  void add_mcp_routes(const GenerationServices& services);
  void route_to_retired();
  // Calls visit(McpSessions&) for each backend that has any, retired ones included.
  template <class Visitor>
  void for_each_sessions(Visitor&& visit) const {
    for (const auto& [upstream, sessions] : mcp_sessions_) visit(*sessions);
    retired_.for_each_sessions(visit);
  }
  void add_acp_routes(const GenerationServices& services);
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
  std::unique_ptr<auth::Authenticators> authenticators_;  // null: no credentials are asked for
  auth::Tickets tickets_;
  http::AdmissionPolicy policy_;
  http::Router routes_;
};

}  // namespace stdgate::app
