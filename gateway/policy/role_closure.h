// Roles that include others.
#pragma once

#include <string>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::policy {

// `named`, and all roles that include one of them, be it by others.
std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles);

}  // namespace stdgate::policy
