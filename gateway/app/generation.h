// Generation: a configuration and all that follows from it: backends, MCP sessions, rules, routes.
//
// Job: turn a Config into something that serves. What a reload replaces is a generation; what stays
// (loop, log, listeners, connections) is the worker's. Owner: the worker, which outlives it with
// everything that it lends in GenerationServices.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/app/dialects.h"
#include "gateway/backend/upstreams.h"
#include "gateway/config/config.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/pool/pool_services.h"
#include "transports/auth/authenticators.h"
#include "transports/http/admission.h"
#include "transports/http/router.h"

namespace stdgate::app {

struct GenerationServices {
  const pool::CoreServices& core;
  session::Callers& callers;
  mcp::SessionIds& session_ids;
  const GatewayIdentity& identity;
  // The gateway's own; children inherit the variables that their configuration names.
  const std::map<std::string, std::string>& environment;
  fetch::Fetcher& fetcher;
};

class Generation {
 public:
  Generation(const config::Config& config, const GenerationServices& services);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // What has changed of who may call, and of the rules; see config/config_changes.h.
  void take_over(const config::Config& config, const GenerationServices& services);

  [[nodiscard]] const config::Config& config() const { return config_; }
  [[nodiscard]] backend::Upstreams& backends() { return backends_; }
  [[nodiscard]] const backend::Upstreams& backends() const { return backends_; }
  [[nodiscard]] const http::Router& routes() const { return routes_; }
  // Who may call, for every listener.
  [[nodiscard]] const http::AdmissionPolicy& policy() const { return policy_; }

  // Of the issuers whose tokens are taken.
  // Frees what is kept only to be faster.
  void drop_caches() {
    if (authenticators_ != nullptr) authenticators_->drop_caches();
  }
  [[nodiscard]] std::vector<auth::KeyFacts> key_facts() const {
    return authenticators_ == nullptr ? std::vector<auth::KeyFacts>()
                                      : authenticators_->key_facts();
  }

  // Shutdown: MCP streams that only listen are ended.
  void drain_sessions();
  // Ends the process if an invariant is broken. Not from inside of a call of the core.
  void check_invariants();

 private:
  void add_backends(const GenerationServices& services);
  void add_mcp_sessions(const GenerationServices& services);

  // In the order in which they need each other; destroyed the other way round.
  config::Config config_;
  backend::Upstreams backends_;
  std::map<BackendId, std::unique_ptr<mcp::McpSessions>> mcp_sessions_;
  std::unique_ptr<auth::Authenticators> authenticators_;  // null: nobody is asked
  http::AdmissionPolicy policy_;
  http::Router routes_;
};

}  // namespace stdgate::app
