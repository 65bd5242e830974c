// Reviews the rules of a configuration, and its other settings of access, for `stdgate check`.
// Pure.
//
// Finds rules of a backend that can never decide, and names in them that can never fit. Only what
// is certain is told: a rule that earlier ones cover together in a way that no comparison of two
// patterns shows is not found. Finds settings of access that have no effect, or allow more than
// they seem to: roles that no client has or no rule names, and listeners that ask for no credential
// beside others that do.
#pragma once

#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::policy {

// Whether every name that fits `narrow` fits `wide` too.
bool covers(std::string_view wide, std::string_view narrow);
// Whether a name can fit both.
bool can_meet(std::string_view one, std::string_view other);

// Findings are at the path of the rule, or of the name.
std::vector<config::ConfigError> review_rules(const config::BackendConfig& backend,
                                              const std::vector<config::RoleConfig>& roles);

// Roles of rules and of the admin pages that no credential gives, and roles of credentials that no
// rule names; at the path of the role. Tokens with a claim for roles may give any.
std::vector<config::ConfigError> review_roles(const config::Config& config);
// Listeners where clients need no credential, beside `auth`, and could use all of a backend.
std::vector<config::ConfigError> review_listeners(const config::Config& config);

}  // namespace stdgate::policy
