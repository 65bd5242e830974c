#include "gateway/tools/backend_yaml.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "gateway/config/secret.h"
#include "gateway/config/value_names.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::tools {

namespace {

std::string flow_list(const std::vector<std::string>& texts, bool expands) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += expands ? yaml_expanding(text) : yaml_text(text);
  }
  return out + "]";
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

std::string value_text(const std::variant<std::string, std::vector<std::string>>& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return scalar(*text);
  std::string list = "[";
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    list.append(list.size() > 1 ? ", " : "").append(yaml_text(text));
  }
  return list + "]";
}

}  // namespace

std::string duration_text(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

std::string yaml_text(std::string_view text) {
  std::string quoted;
  rpc::append_json_string(quoted, text);
  std::string out;
  for (size_t at = 0; at < quoted.size(); ++at) {
    if (quoted[at] == '$' && at + 1 < quoted.size() &&
        (quoted[at + 1] == '{' || quoted[at + 1] == '$')) {
      out += '$';
    }
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
    changes.push_back({{"pool", "start_timeout"}, duration_text(wanted.pool.start_timeout)});
  }
  return changes;
}

std::string setting_text(const std::string& backend, const BackendSetting& setting) {
  std::string text = "backends." + backend;
  for (const std::string& key : setting.path) text.append(".").append(key);
  return text + ": " + setting.value;
}

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
  for (const auto& [key, value] : plain) {
    std::string line = key;
    lines.others.push_back(line.append(": ").append(value));
  }
  for (const auto& [key, members] : nested) {
    std::string text;
    for (const auto& [member, value] : members) {
      text.append(text.empty() ? "" : ", ").append(member).append(": ").append(value);
    }
    std::string line = key;
    lines.others.push_back(line.append(": { ").append(text).append(" }"));
  }
}

std::string backend_yaml(const BackendLines& backend, size_t margin, size_t indent) {
  const std::string first(margin, ' ');
  const std::string inner(margin + indent, ' ');
  std::string out = first + backend.name + ":\n";
  out += inner + "command: " + flow_list(backend.command, backend.expands) + "\n";
  if (!backend.env.empty()) {
    std::string members;
    for (const auto& [name, value] : backend.env) {
      members.append(members.empty() ? "" : ", ").append(name).append(": ").append(value);
    }
    out += inner + "env: { " + members + " }\n";
  }
  if (!backend.cwd.empty()) {
    out += inner + "cwd: ";
    out += (backend.expands ? yaml_expanding(backend.cwd) : yaml_text(backend.cwd)) + "\n";
  }
  for (const std::string& line : backend.others) out += inner + line + "\n";
  return out;
}

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
      setting.value = value_text(flag.setting.value);
    }
    settings.push_back(std::move(setting));
  }
  settings.insert(settings.end(), changes.begin(), changes.end());
  add_settings(lines, settings);
  return lines;
}

}  // namespace stdgate::tools
