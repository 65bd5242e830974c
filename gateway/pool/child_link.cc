#include "gateway/pool/child_link.h"

#include <algorithm>
#include <string_view>

namespace stdgate::pool {

namespace {

// `pattern` is a name, or a prefix ending in '*'.
bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

LaunchSpec make_launch_spec(const config::BackendConfig& config,
                            const std::map<std::string, std::string>& environment,
                            const std::string& own_binary) {
  LaunchSpec spec;
  spec.backend = config.name;
  spec.command = config.command;
  if (spec.command.front() == "stdgate") spec.command.front() = own_binary;
  spec.environment = config.env;
  spec.environment.insert(config.env_from_files.begin(), config.env_from_files.end());
  for (const auto& [name, value] : environment) {
    const bool inherited =
        std::any_of(config.env_inherit.begin(), config.env_inherit.end(),
                    [&name = name](const std::string& pattern) { return matches(pattern, name); });
    if (inherited) spec.environment.try_emplace(name, value);
  }
  spec.working_directory = config.cwd;
  spec.user = config.user;
  spec.limits = config.rlimits;
  spec.sandbox = config.sandbox;
  spec.watches_memory = config.pool.max_memory > 0;
  return spec;
}

}  // namespace stdgate::pool
