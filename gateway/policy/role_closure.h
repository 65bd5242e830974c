// Roles that include others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/config.h"

namespace stdgate::policy {

// Stands for any client, with or without roles.
inline constexpr std::string_view kEverybody = "*";

// `named`, and all roles that include one of them, directly or by others.
std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles);

}  // namespace stdgate::policy
