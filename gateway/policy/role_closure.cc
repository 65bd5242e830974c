#include "gateway/policy/role_closure.h"

#include <algorithm>
#include <string_view>

namespace stdgate::policy {

std::vector<std::string> with_including(std::vector<std::string> named,
                                        const std::vector<config::RoleConfig>& roles) {
  const auto is_named = [&named](std::string_view role) {
    return std::ranges::find(named, role) != named.end();
  };
  for (size_t known = 0; known != named.size();) {
    known = named.size();
    for (const config::RoleConfig& role : roles) {
      const bool includes_one = std::ranges::any_of(role.includes, is_named);
      if (includes_one && !is_named(role.name)) named.push_back(role.name);
    }
  }
  return named;
}

}  // namespace stdgate::policy
