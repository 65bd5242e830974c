#include "gateway/tools/gateway_yaml.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "gateway/base/text.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_parser.h"
#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "gateway/config/value_parser.h"
#include "gateway/rpc/json_text.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

// --- A backend as lines ----------------------------------------------------------------------

namespace {

std::string flow_list(const std::vector<std::string>& texts, bool expands) {
  std::vector<std::string> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) {
    items.push_back(expands ? yaml_expanding(text) : yaml_text(text));
  }
  return "[" + joined(items, ", ") + "]";
}

std::string pair_text(const std::string& key, const std::string& value) {
  return key + ": " + value;
}

std::string flow_map(const std::map<std::string, std::string>& members) {
  std::vector<std::string> items;
  items.reserve(members.size());
  for (const auto& [key, value] : members) items.push_back(pair_text(key, value));
  return "{ " + joined(items, ", ") + " }";
}

// A scalar as it stands in YAML.
std::string scalar(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").find(c) != std::string_view::npos;
  };
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain) &&
                     text.front() != '-' && text.front() != '.';
  return plain ? text : yaml_text(text);
}

}  // namespace

std::string yaml_text(std::string_view text) {
  const std::string quoted = yaml_expanding(text);
  std::string out;
  for (size_t at = 0; at < quoted.size(); ++at) {
    const char next = at + 1 < quoted.size() ? quoted[at + 1] : '\0';
    if (quoted[at] == '$' && (next == '{' || next == '$')) out += '$';
    out += quoted[at];
  }
  return out;
}

std::string yaml_expanding(std::string_view text) {
  std::string quoted;
  rpc::append_json_string(quoted, text);
  return quoted;
}

std::string yaml_reference(std::string_view variable) {
  return "\"${" + std::string(variable) + "}\"";
}

std::vector<BackendSetting> changes_between(const config::BackendConfig& given,
                                            const config::BackendConfig& wanted) {
  std::vector<BackendSetting> changes;
  rpc::Framing framing = given.framing;
  if (wanted.protocol != given.protocol) {
    changes.push_back({{"protocol"}, std::string(config::name_of(wanted.protocol))});
    framing = config::row_of(wanted.protocol).framing;
  }
  if (wanted.framing != framing) {
    changes.push_back({{"framing"}, std::string(config::name_of(wanted.framing))});
  }
  if (wanted.protocol == config::Protocol::mcp && wanted.revision != given.revision) {
    changes.push_back({{"revision"}, std::string(config::name_of(wanted.revision))});
  }
  if (wanted.pool.warm != given.pool.warm) {
    changes.push_back({{"pool", "warm"}, std::to_string(wanted.pool.warm)});
  }
  if (wanted.pool.min != given.pool.min) {
    changes.push_back({{"pool", "min"}, std::to_string(wanted.pool.min)});
  }
  if (wanted.pool.start_timeout != given.pool.start_timeout) {
    changes.push_back(
        {{"pool", "start_timeout"}, config::print_duration(wanted.pool.start_timeout)});
  }
  return changes;
}

std::string setting_text(const std::string& backend, const BackendSetting& setting) {
  std::string text = "backends." + backend;
  for (const std::string& key : setting.path) text.append(".").append(key);
  return text + ": " + setting.value;
}

std::string backend_yaml(const BackendLines& backend, size_t margin, size_t indent) {
  const std::string first(margin, ' ');
  const std::string inner(margin + indent, ' ');
  std::string out = first + backend.name + ":\n";
  out += inner + "command: " + flow_list(backend.command, backend.expands) + "\n";
  if (!backend.env.empty()) out += inner + "env: " + flow_map(backend.env) + "\n";
  if (!backend.cwd.empty()) {
    out += inner + "cwd: ";
    out += (backend.expands ? yaml_expanding(backend.cwd) : yaml_text(backend.cwd)) + "\n";
  }
  for (const std::string& line : backend.others) out += inner + line + "\n";
  return out;
}

namespace {

// Into `lines`, each member of a section beside the others of it; of two settings of one place the
// later one.
void add_settings(BackendLines& lines, const std::vector<BackendSetting>& settings) {
  std::map<std::string, std::string> plain;
  std::map<std::string, std::map<std::string, std::string>> nested;
  for (const BackendSetting& setting : settings) {
    const std::string& key = setting.path.front();
    if (setting.path.size() == 1) {
      plain[key] = setting.value;
    } else if (key == "env") {
      lines.env[setting.path[1]] = setting.value;
    } else {
      nested[key][setting.path[1]] = setting.value;
    }
  }
  for (const auto& [key, value] : plain) lines.others.push_back(pair_text(key, value));
  for (const auto& [key, members] : nested)
    lines.others.push_back(pair_text(key, flow_map(members)));
}

}  // namespace

BackendLines lines_of(const app::CommandLine& command_line, std::vector<std::string>& warnings,
                      const std::vector<BackendSetting>& changes) {
  BackendLines lines;
  lines.command = command_line.command;
  std::vector<BackendSetting> settings;
  for (const app::CommandLine::Flag& flag : command_line.flags) {
    const std::vector<std::string>& path = flag.setting.path;
    if (path.size() < 3 || path[2] == "command") continue;
    BackendSetting setting{{path.begin() + 2, path.end()}, {}};
    if (path[2] == "env") {
      const std::string& variable = path.back();
      const std::string value = std::get<std::string>(flag.setting.value);
      const bool is_secret = config::holds_secret(variable, value);
      if (is_secret) {
        std::string warning = "the value of " + variable;
        warning.append(" was not written: set ").append(variable);
        warnings.push_back(warning + " in stdgate's environment");
      }
      const bool is_reference = is_secret || flag.from_environment;
      setting.value = is_reference ? yaml_reference(variable) : yaml_text(value);
    } else {
      const auto* const text = std::get_if<std::string>(&flag.setting.value);
      setting.value =
          text != nullptr
              ? scalar(*text)
              : flow_list(std::get<std::vector<std::string>>(flag.setting.value), false);
    }
    settings.push_back(std::move(setting));
  }
  settings.insert(settings.end(), changes.begin(), changes.end());
  add_settings(lines, settings);
  return lines;
}

// --- Backends into a file --------------------------------------------------------------------

namespace {

constexpr size_t kUsualIndent = 2;

// One line, with its end.
struct Line {
  size_t begin = 0;
  size_t end = 0;
  std::string_view text;  // without its end

  [[nodiscard]] size_t indent() const { return std::min(text.find_first_not_of(' '), text.size()); }
  // Neither empty nor a comment.
  [[nodiscard]] bool has_content() const {
    const size_t at = text.find_first_not_of(" \t");
    return at != std::string_view::npos && text[at] != '#';
  }
};

std::vector<Line> lines_in(std::string_view text) {
  std::vector<Line> lines;
  for (std::string_view line : split(text, '\n')) {
    const size_t begin = line.data() - text.data();
    const size_t end = std::min(begin + line.size() + 1, text.size());
    while (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(Line{begin, end, line});
  }
  return lines;
}

// The rest of the line behind `backends:`, without a comment; nothing: the line has another key.
std::optional<std::string_view> behind_key(std::string_view line) {
  for (const std::string_view key : {"backends", "\"backends\"", "'backends'"}) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = trim(line.substr(key.size()), " \t");
    if (!rest.starts_with(':')) continue;
    rest = trim(rest.substr(1), " \t");
    return rest.starts_with('#') ? std::string_view() : rest;
  }
  return std::nullopt;
}

// The place in a text where backends go, and how they look there.
struct Place {
  size_t at = 0;      // bytes before it stay
  size_t behind = 0;  // and those from here on
  size_t margin = kUsualIndent;
  bool needs_key = false;  // "backends:" has to be written too
};

tl::expected<Place, std::string> find_place(std::string_view text) {
  const std::vector<Line> lines = lines_in(text);
  const auto key = std::find_if(lines.begin(), lines.end(),
                                [](const Line& line) { return behind_key(line.text).has_value(); });
  if (key == lines.end()) return Place{text.size(), text.size(), kUsualIndent, true};
  const std::string_view rest = *behind_key(key->text);
  if (rest == "{}" || rest == "null" || rest == "~") {
    const size_t nothing = key->begin + key->text.find(rest);
    return Place{nothing, key->end, kUsualIndent, false};
  }
  if (!rest.empty()) {
    return tl::unexpected<std::string>(
        "backends stands on one line there; write each backend on lines of its own first");
  }
  Place place{key->end, key->end, kUsualIndent, false};
  bool is_first = true;
  for (auto line = key + 1; line != lines.end(); ++line) {
    if (!line->has_content()) continue;
    if (line->indent() == 0) break;
    if (is_first) place.margin = line->indent();
    is_first = false;
    place.at = place.behind = line->end;
  }
  return place;
}

std::string edited(const std::string& text, const Place& place,
                   const std::vector<BackendLines>& backends) {
  const bool has_returns = text.find("\r\n") != std::string::npos;
  std::string added;
  if (place.needs_key) added += text.empty() ? "backends:\n" : "\nbackends:\n";
  if (place.behind != place.at) added += '\n';
  for (const BackendLines& backend : backends) {
    added += backend_yaml(backend, place.margin, kUsualIndent);
  }
  std::string before = text.substr(0, place.at);
  if (place.behind != place.at) {
    before.erase(before.find_last_not_of(' ') + 1);
  } else if (!before.empty() && before.back() != '\n') {
    before += has_returns ? "\r\n" : "\n";
  }
  if (has_returns) {
    for (size_t at = 0; (at = added.find('\n', at)) != std::string::npos; at += 2) {
      added.insert(at, 1, '\r');
    }
  }
  return before + added + text.substr(place.behind);
}

// Every variable has a value: which one, does not matter here.
std::optional<std::string> any_value(const std::string& /*name*/) { return "1"; }

tl::expected<config::Config, std::string> parsed(const std::string& text, std::string_view file,
                                                 const std::vector<config::Setting>& more = {}) {
  auto config = config::parse_config(text, any_value, more, config::read_text_file);
  if (config) return *std::move(config);
  std::string errors;
  for (const config::ConfigError& error : config.error()) {
    errors.append("\n  ").append(error.to_string(file));
  }
  return tl::unexpected(std::move(errors));
}

// Empty: everything that was there is there still.
std::string difference(const config::Config& before, config::Config after,
                       const std::vector<BackendLines>& added, std::vector<std::string>& warnings) {
  for (const BackendLines& backend : added) {
    const auto found =
        std::ranges::find(after.backends, backend.name, &config::BackendConfig::name);
    if (found == after.backends.end()) return "a new backend is not in it";
    after.backends.erase(found);
  }
  if (after.backends.size() != before.backends.size()) return "it has other backends";
  for (size_t i = 0; i < after.backends.size(); ++i) {
    config::BackendConfig& now = after.backends[i];
    if (before.backends[i].is_default && !now.is_default) {
      warnings.push_back("backend " + now.name +
                         " was the only one, so it was also served at the root (/mcp, /rpc); to "
                         "keep that, give it default: true");
    }
    now.is_default = before.backends[i].is_default;
    now.is_required = before.backends[i].is_required;
  }
  after.secrets = before.secrets;  // the new backends have some; values of the others compare
  return after == before ? std::string() : "something else in it would change";
}

}  // namespace

tl::expected<config::Config, std::string> parse_gateway_text(const std::string& text,
                                                             std::string_view file) {
  auto config = parsed(text, file);
  if (config) return config;
  constexpr const char* kStandIn = "stand-in";
  auto other =
      parsed(text, file, {{{"backends", kStandIn, "command"}, std::vector<std::string>{"x"}}});
  if (!other) return other;
  if (other->backends.size() != 1 || other->backends[0].name != kStandIn) return config;
  other->backends.clear();
  return other;
}

std::string mistake_in(const BackendLines& backend) {
  const auto no_file = [](const std::string&, size_t) -> tl::expected<std::string, std::string> {
    return std::string();
  };
  const std::string text = "backends:\n" + backend_yaml(backend, kUsualIndent, kUsualIndent);
  const auto config = config::parse_config(text, any_value, {}, no_file);
  if (config || config.error().empty()) return {};
  const config::ConfigError& error = config.error().front();
  const std::string place = "backends." + backend.name + ".";
  const std::string_view path = error.path;
  return std::string(path.starts_with(place) ? path.substr(place.size()) : path) + ": " +
         error.message;
}

tl::expected<EditedConfig, std::string> add_backends(const std::string& text,
                                                     const std::vector<BackendLines>& backends,
                                                     std::string_view file) {
  const bool is_new = std::none_of(text.begin(), text.end(),
                                   [](char c) { return c != ' ' && c != '\n' && c != '\r'; });
  std::optional<config::Config> before;
  if (!is_new) {
    auto config = parse_gateway_text(text, file);
    if (!config) return tl::unexpected("it has mistakes, so nothing is added:" + config.error());
    before = *std::move(config);
    for (const BackendLines& backend : backends) {
      const auto same =
          std::ranges::find(before->backends, backend.name, &config::BackendConfig::name);
      if (same == before->backends.end()) continue;
      return tl::unexpected("it has a backend " + backend.name +
                            " already; choose another name, or edit it there");
    }
  }
  const auto place = find_place(text);
  if (!place) return tl::unexpected(place.error());
  EditedConfig result{edited(text, *place, backends), {}};
  auto after = parsed(result.text, file);
  if (!after) return tl::unexpected("the result would have mistakes:" + after.error());
  if (before) {
    const std::string wrong = difference(*before, *std::move(after), backends, result.warnings);
    if (!wrong.empty()) {
      return tl::unexpected("it is written in a way that cannot be added to: " + wrong);
    }
  }
  return result;
}

}  // namespace stdgate::tools
