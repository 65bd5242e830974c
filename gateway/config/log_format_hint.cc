#include "gateway/config/log_format_hint.h"

#include <yaml-cpp/yaml.h>

#include <variant>

namespace stdgate::config {

LogFormat log_format_hint(const std::string& yaml, const std::vector<Setting>& settings) {
  std::string format;
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (root.IsMap() && root["log"].IsMap()) format = root["log"]["format"].as<std::string>("");
  } catch (const YAML::Exception&) {
    format.clear();  // the parser reports the errors
  }
  for (const Setting& setting : settings) {
    const auto* value = std::get_if<std::string>(&setting.value);
    const bool is_format = setting.path == std::vector<std::string>{"log", "format"};
    if (is_format && value != nullptr) format = *value;
  }
  return format == "json" ? LogFormat::json : LogFormat::text;
}

}  // namespace stdgate::config
