#include "gateway/config/backend_name.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "gateway/config/config_ranges.h"

namespace stdgate::config {

namespace {

constexpr std::array<std::string_view, 9> kReservedNames{
    "rpc", "ws", "mcp", "sse", "messages", "healthz", "readyz", "metrics", "debug"};

}  // namespace

std::span<const std::string_view> reserved_backend_names() { return kReservedNames; }

tl::expected<void, std::string> check_backend_name(std::string_view name) {
  if (std::find(kReservedNames.begin(), kReservedNames.end(), name) != kReservedNames.end()) {
    return tl::unexpected("'" + std::string(name) +
                          "' is a path of the gateway itself; choose another name");
  }
  if (name.empty() || name.size() > kMaxBackendName ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string_view::npos) {
    return tl::unexpected("a backend's name has 1 to " + std::to_string(kMaxBackendName) +
                          " characters out of a-z, 0-9, '_' and '-'");
  }
  return {};
}

std::vector<std::string> backend_names(const std::string& yaml) {
  std::vector<std::string> names;
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (!root.IsMap() || !root["backends"].IsDefined() || !root["backends"].IsMap()) return names;
    for (const auto& entry : root["backends"]) {
      if (!entry.first.IsScalar() || !check_backend_name(entry.first.Scalar())) continue;
      names.push_back(entry.first.Scalar());
    }
  } catch (const YAML::Exception&) {
    names.clear();
  }
  return names;
}

}  // namespace stdgate::config
