// Virtual servers, and the rules and limits of these and of backends, as configured (config.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gateway/base/time.h"

namespace stdgate::config {

// Names are roles of principals; see policy::Rules.
struct RoleConfig {
  std::string name;
  std::vector<std::string> includes;  // roles whose rules hold for it too

  friend bool operator==(const RoleConfig&, const RoleConfig&) = default;
};

// The rights of some roles at a backend. The names are patterns; without any, it is everything.
struct RuleConfig {
  std::vector<std::string> allow{};  // roles; "*" for every client
  std::vector<std::string> methods{};
  std::vector<std::string> tools{};
  std::vector<std::string> resources{};  // URIs
  std::vector<std::string> prompts{};
  std::vector<std::string> from_agent{};  // methods of what an agent asks and tells its client
  std::vector<std::string> except{};      // any of these
  std::vector<std::string> scopes{};      // that the client must have been given too

  // Then it is about everything.
  [[nodiscard]] bool names_nothing() const {
    return methods.empty() && tools.empty() && resources.empty() && prompts.empty() &&
           from_agent.empty();
  }

  friend bool operator==(const RuleConfig&, const RuleConfig&) = default;
};

// So many in a time; none: no limit.
struct Rate {
  uint32_t count = 0;
  Duration per = std::chrono::seconds(1);

  friend bool operator==(const Rate&, const Rate&) = default;
};

// Limits on all clients together; 0: no limit.
struct CallLimits {
  Rate rate;               // of calls
  uint32_t burst = 0;      // of them at once, after a rest; 0: as many as `rate` names
  uint32_t in_flight = 0;  // calls that are not answered yet

  friend bool operator==(const CallLimits&, const CallLimits&) = default;
};

// Limits on one client at a backend; 0: no limit.
struct ClientLimits {
  Rate rate;               // of calls
  uint32_t burst = 0;      // of them at once, after a rest; 0: as many as `rate` names
  uint32_t in_flight = 0;  // calls that are not answered yet
  uint32_t sessions = 0;   // that have a child or wait for one

  friend bool operator==(const ClientLimits&, const ClientLimits&) = default;
};

struct BackendConfig;

// The elements of a member that a virtual server shows: patterns of the member's own names.
struct SelectionConfig {
  std::vector<std::string> include;  // none: all
  std::vector<std::string> exclude;  // any of these

  friend bool operator==(const SelectionConfig&, const SelectionConfig&) = default;
};

// Names of tools, each with arguments and their values, raw JSON.
using ToolArguments = std::map<std::string, std::map<std::string, std::string>>;

// The tools of a member that a virtual server shows, and their looks. The keys of `rename` are the
// member's names. All other names are the ones after renaming, without the prefix.
struct MemberToolsConfig {
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::map<std::string, std::string> rename;
  std::map<std::string, std::string> describe;
  ToolArguments fix;       // that clients neither see nor choose
  ToolArguments defaults;  // that clients may leave out

  friend bool operator==(const MemberToolsConfig&, const MemberToolsConfig&) = default;
};

// A backend as a member of a virtual server.
struct MemberConfig {
  std::string backend;
  std::string prefix;        // of the names of tools and prompts; by default "<backend>_"
  bool is_required = false;  // without it lists are answered with an error
  Duration wait = std::chrono::seconds(15);  // that a list waits for it
  MemberToolsConfig tools;
  SelectionConfig prompts;
  SelectionConfig resources;  // by URI

  friend bool operator==(const MemberConfig&, const MemberConfig&) = default;
};

// Tools that clients find by a search, except the pinned ones, which are listed.
struct SearchConfig {
  std::vector<std::string> pin;  // names, as clients see them

  friend bool operator==(const SearchConfig&, const SearchConfig&) = default;
};

// Which tools a virtual server lists: all of them, or only the tools that search for others.
struct ExposeConfig {
  bool is_search = false;
  SearchConfig search;

  friend bool operator==(const ExposeConfig&, const ExposeConfig&) = default;
};

// A virtual server: one endpoint for several backends of MCP.
struct ServerConfig {
  std::string name;  // as a backend's, and none of theirs
  bool is_default = false;
  bool is_required = false;
  std::string instructions;  // for clients; empty: none
  std::vector<MemberConfig> members;
  ExposeConfig expose;
  Duration timeout = std::chrono::seconds(60);  // as BackendConfig::timeout
  std::vector<std::string> methods;             // the following as in BackendConfig
  std::vector<RuleConfig> rules;
  ClientLimits calls_per_principal;
  CallLimits calls;

  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

// The backend's configuration that represents a virtual server where one is needed.
BackendConfig as_backend(const ServerConfig& server);

}  // namespace stdgate::config
