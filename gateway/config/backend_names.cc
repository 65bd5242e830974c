#include "gateway/config/backend_names.h"

#include <yaml-cpp/yaml.h>

#include "gateway/config/backend_name.h"

namespace stdgate::config {

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
