// Finds settings of access that have no effect, or allow more than they seem to: roles that no
// client has or no rule names, and listeners that ask for no credential beside others that do.
//
// Pure, for `stdgate check`.
#pragma once

#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::policy {

// Roles of rules and of the admin pages that no credential gives, and roles of credentials that no
// rule names; at the path of the role. Tokens with a claim for roles may give any.
std::vector<config::ConfigError> review_roles(const config::Config& config);
// Listeners where clients need no credential, beside `auth`, and could use all of a backend.
std::vector<config::ConfigError> review_listeners(const config::Config& config);

}  // namespace stdgate::policy
