// What of who may call has no effect, or opens more than it seems to: roles that nobody has or that
// nothing names, and listeners where nobody is asked beside others where everybody is.
//
// Pure, for `stdgate check`.
#pragma once

#include <vector>

#include "gateway/config/config.h"
#include "gateway/config/config_parser.h"

namespace stdgate::policy {

// Roles of rules and of the admin pages that no credential gives, and roles of credentials that
// nothing names; by the path of the role. Tokens with a claim for roles may give any.
std::vector<config::ConfigError> review_roles(const config::Config& config);
// Listeners where clients need no credential, beside `auth`, and could use all of a backend.
std::vector<config::ConfigError> review_listeners(const config::Config& config);

}  // namespace stdgate::policy
