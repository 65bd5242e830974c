// Finds rules of a backend that can never decide, and names in them that can never fit.
//
// Pure, for `stdgate check`. Only what is certain is told: a rule that earlier ones cover together
// in a way that no comparison of two patterns shows is not found.
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

}  // namespace stdgate::policy
