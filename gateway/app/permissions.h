// `--as` of `stdgate check` and `stdgate ls`: who is meant, and what he may do by the rules of a
// configuration.
//
// policy::Rules judges which rules hold for a principal, as when the gateway serves.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/policy/principal.h"

namespace stdgate::app {

// `who`: a name, and roles behind commas: "ci", "ci,writer". API keys and certificates of that name
// have the roles of the configuration too, keys that have expired by `now` none. Nothing:
// "anonymous". The error says what is wrong.
tl::expected<std::optional<policy::Principal>, std::string> principal_of(
    const config::Config& config, std::string_view who, std::chrono::sys_seconds now);

struct PermissionsQuestion {
  std::string_view who;
  std::string_view only{};  // a backend's name; empty: all of them
  bool as_json = false;     // else for people
};
tl::expected<std::string, std::string> permissions_text(const config::Config& config,
                                                        const PermissionsQuestion& question,
                                                        std::chrono::sys_seconds now);

}  // namespace stdgate::app
