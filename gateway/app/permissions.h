// `--as` of `stdgate check` and `stdgate ls`: which client is meant, and what it may do by the
// rules of a configuration.
//
// policy::Rules judges which rules hold for a principal, as when the gateway serves.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/policy/client.h"

namespace stdgate::app {

// `who`: a name, and roles after commas: "ci", "ci,writer". API keys and certificates with that
// name add the roles of the configuration, unless a key has expired by `now`. Nothing: "anonymous".
// An error says what is wrong.
tl::expected<std::optional<policy::Principal>, std::string> principal_of(
    const config::Config& config, std::string_view who, std::chrono::sys_seconds now);

// Whose permissions are asked for. `who`: as for principal_of().
struct PermissionsQuestion {
  std::string_view who;
  std::string_view only{};  // a backend's name; empty: all of them
  bool as_json = false;     // else for people
};
tl::expected<std::string, std::string> permissions_text(const config::Config& config,
                                                        const PermissionsQuestion& question,
                                                        std::chrono::sys_seconds now);

}  // namespace stdgate::app
