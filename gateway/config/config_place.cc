#include "gateway/config/config_place.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace stdgate::config {
namespace {

// A node of the file, and what remains of the path behind it.
struct Step {
  YAML::Node node;
  YAML::Mark mark;
  std::string_view rest;
};

// The entry of `map` whose key `path` begins with. A key may hold dots itself, so that the longest
// one is meant.
std::optional<Step> into_map(const YAML::Node& map, std::string_view path) {
  std::optional<Step> found;
  size_t longest = 0;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) continue;
    const std::string& key = entry.first.Scalar();
    if (key.size() <= longest || !path.starts_with(key)) continue;
    const std::string_view rest = path.substr(key.size());
    if (!rest.empty() && rest.front() != '.' && rest.front() != '[') continue;
    longest = key.size();
    found = Step{entry.second, entry.second.IsScalar() ? entry.second.Mark() : entry.first.Mark(),
                 rest.starts_with('.') ? rest.substr(1) : rest};
  }
  return found;
}

// The item of `list` whose number in brackets `path` begins with.
std::optional<Step> into_list(const YAML::Node& list, std::string_view path) {
  const size_t end = path.find(']');
  size_t number = 0;
  if (!path.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  std::from_chars(path.data() + 1, path.data() + end, number);
  if (number >= list.size()) return std::nullopt;
  std::string_view rest = path.substr(end + 1);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const YAML::Node item = list[number];
  return Step{item, item.Mark(), rest};
}

void place(const YAML::Node& root, ConfigError& error) {
  Step at{root, YAML::Mark::null_mark(), error.path};
  while (!at.rest.empty()) {
    std::optional<Step> next;
    if (at.node.IsMap()) next = into_map(at.node, at.rest);
    if (at.node.IsSequence()) next = into_list(at.node, at.rest);
    if (!next) break;
    at.node.reset(next->node);
    at.mark = next->mark;
    at.rest = next->rest;
  }
  if (at.mark.is_null()) return;
  error.line = at.mark.line + 1;
  error.column = at.mark.column + 1;
}

}  // namespace

void place_errors(const std::string& yaml, std::vector<ConfigError>& errors) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    for (ConfigError& error : errors) {
      if (error.line == 0) place(root, error);
    }
  } catch (const YAML::Exception&) {
    return;  // it has been read before: somebody is writing the file at the moment
  }
}

}  // namespace stdgate::config
