// Roles that include others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::policy {

// In the place of a role: any client, with roles or without.
inline constexpr std::string_view kEverybody = "*";

// `named`, and all roles that include one of them, be it by others.
std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles);

}  // namespace stdgate::policy
