// `--as` of `stdgate check` and `stdgate ls`: who is meant, and what he may do by the rules of a
// configuration.
//
// Which rules hold for somebody is judged by policy::Rules, as when the gateway serves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"
#include "gateway/policy/principal.h"

namespace stdgate::app {

// `who`: a name, and roles behind commas: "ci", "ci,writer". API keys and certificates of that name
// have the roles of the configuration too. Nothing: "anonymous". The error says what is wrong.
tl::expected<std::optional<policy::Principal>, std::string> principal_of(
    const config::Config& config, std::string_view who);

// For people, or as JSON. `only`: a backend's name; empty: all of them.
tl::expected<std::string, std::string> permissions_text(const config::Config& config,
                                                        std::string_view who, std::string_view only,
                                                        bool as_json);

}  // namespace stdgate::app
