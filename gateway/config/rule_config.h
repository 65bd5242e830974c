// The configured rules and limits of a backend or a virtual server (config.h).
#pragma once

#include <chrono>
#include <cstdint>
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

}  // namespace stdgate::config
