// Reading gateway.yaml: the file, the settings over it, the options of both, the rules across them.
// The only place where yaml-cpp may throw: nothing leaves parse_config() but values.
#include "gateway/config/config_parser.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <variant>

#include "gateway/base/encodings.h"
#include "gateway/config/environment_variables.h"
#include "gateway/config/option_reader.h"
#include "gateway/config/options/option_rules.h"
#include "gateway/config/secret.h"
#include "gateway/config/section_reader.h"
#include "gateway/config/yaml_text.h"

namespace stdgate::config {

namespace {

// Leaves a tree alone that has something else than a map on the way: reading it reports that.
void apply_setting(YAML::Node node, const Setting& setting) {
  for (size_t i = 0; i < setting.path.size(); ++i) {
    if (!node.IsMap() && !node.IsNull() && node.IsDefined()) return;
    node.reset(node[setting.path[i]]);
  }
  if (const auto* text = std::get_if<std::string>(&setting.value)) {
    node = YAML::Node(escape_variables(*text));
    return;
  }
  YAML::Node items(YAML::NodeType::Sequence);
  for (const std::string& item : std::get<std::vector<std::string>>(setting.value)) {
    items.push_back(escape_variables(item));
  }
  node = items;
}

// Takes all backends but this one out of the file, if it has that, and the servers, whose members
// they are.
void keep_only(YAML::Node root, const std::string& key) {
  YAML::Node map = root["backends"];
  if (!map.IsMap() || !map[key].IsDefined()) return;
  std::vector<YAML::Node> others;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != key) others.push_back(entry.first);
  }
  for (const YAML::Node& other : others) map.remove(other);
  root.remove("servers");
}

void sort_by_place(std::vector<ConfigError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.line, a.column, a.path) < std::tie(b.line, b.column, b.path);
  });
}

// Finds mistakes that the parser reads as something else. The parser reads an unclosed quote as a
// text up to the end of the file. A comma outside a list is an empty document for it, again and
// again, because it does not get past the comma.
class MistakeFinder final : public YAML::EventHandler {
 public:
  explicit MistakeFinder(const std::string& yaml) : yaml_(yaml) {}

  [[nodiscard]] const std::optional<YAML::Mark>& open_quote() const { return open_quote_; }
  [[nodiscard]] const std::optional<YAML::Mark>& stuck_at() const { return stuck_at_; }

  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    if (!is_quote_closed(yaml_, static_cast<size_t>(mark.pos))) open_quote_ = mark;
  }
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == document_) stuck_at_ = mark;
    document_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

 private:
  const std::string& yaml_;
  std::optional<YAML::Mark> open_quote_;
  std::optional<YAML::Mark> stuck_at_;
  int document_ = -1;  // where the last one begins
};

ConfigError error_at(const YAML::Mark& mark, std::string message) {
  return {mark.line + 1, mark.column + 1, "", std::move(message)};
}

std::optional<ConfigError> find_mistake(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  MistakeFinder finder(yaml);
  while (!finder.stuck_at() && parser.HandleNextDocument(finder)) {
  }
  if (const auto& comma = finder.stuck_at()) {
    return error_at(*comma, "a text cannot begin with this character; put it in quotes");
  }
  if (const auto& quote = finder.open_quote()) {
    return error_at(*quote, "the quote that opens here is not closed");
  }
  return std::nullopt;
}

bool names_backend(const std::vector<Setting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return !setting.path.empty() && setting.path.front() == "backends";
  });
}

constexpr const char* kEmptyFile =
    "the file is empty; name at least one backend, as in: backends: { demo: { command: [stdgate, "
    "demo-server], protocol: jsonrpc } }";

// The texts that variables with the look of secrets have brought into the file. Short ones are part
// of too many other words.
void hide_secrets(const std::map<std::string, std::set<std::string>>& secrets,
                  std::vector<ConfigError>& errors) {
  constexpr size_t kMinSize = 4;
  std::set<std::string> parts;
  for (const auto& [text, of_text] : secrets) {
    std::ranges::copy_if(of_text, std::inserter(parts, parts.end()),
                         [](const std::string& part) { return part.size() >= kMinSize; });
  }
  for (ConfigError& error : errors) error.message = hide_parts(error.message, parts);
}

tl::expected<Config, std::vector<ConfigError>> read_document(const std::string& yaml,
                                                             const Environment& environment,
                                                             const std::vector<Setting>& settings,
                                                             const FileReader& read_file,
                                                             const std::string& only) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
  Reading reading{environment, read_file, {}, {}};
  YAML::Node node = documents.empty() ? YAML::Node(YAML::NodeType::Null) : documents.front();
  if (node.IsNull() && !names_backend(settings)) {
    return tl::unexpected(std::vector{ConfigError{0, 0, "", kEmptyFile}});
  }
  for (const Setting& setting : settings) apply_setting(node, setting);
  if (!only.empty() && node.IsMap()) keep_only(node, only);
  const Value root(node, node.Mark(), std::string(), std::string(), reading);
  if (documents.size() > 1) {
    Value(documents[1], documents[1].Mark(), {}, {}, reading)
        .fail("a second document begins here; a configuration is one document");
  }
  Section section(root);
  Config config;
  read_options(section, config);
  complete_config(section, config);
  config.secrets = std::move(reading.secrets);
  if (reading.errors.empty()) return config;
  hide_secrets(config.secrets, reading.errors);
  sort_by_place(reading.errors);
  return tl::unexpected(std::move(reading.errors));
}

}  // namespace

std::string ConfigError::to_string(std::string_view file) const {
  std::string text(file);
  if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!text.empty()) text += ": ";
  if (!path.empty()) text += path + ": ";
  // The text that users wrote is in all of it.
  return visible(text + message, VisibleText::line);
}

tl::expected<Config, std::vector<ConfigError>> parse_config(const std::string& yaml,
                                                            const Environment& environment,
                                                            const std::vector<Setting>& settings,
                                                            const FileReader& read_file,
                                                            const std::string& only) {
  if (auto bad = check_yaml_bytes(yaml)) return tl::unexpected(std::vector{*std::move(bad)});
  try {
    if (auto mistake = find_mistake(yaml)) return tl::unexpected(std::vector{*std::move(mistake)});
    return read_document(yaml, environment, settings, read_file, only);
  } catch (const YAML::Exception& error) {
    ConfigError syntax =
        explain_yaml_error(yaml, error.mark.line + 1, error.mark.column + 1, error.msg);
    return tl::unexpected(std::vector{std::move(syntax)});
  }
}

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
    return;  // the file has been read before, and is being written at the moment
  }
}

}  // namespace stdgate::config
