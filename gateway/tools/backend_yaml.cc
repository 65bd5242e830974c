#include "gateway/tools/backend_yaml.h"

#include <chrono>

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

rpc::Framing usual_framing(config::Protocol protocol) {
  return protocol == config::Protocol::lsp ? rpc::Framing::content_length : rpc::Framing::newline;
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
    framing = usual_framing(wanted.protocol);
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

}  // namespace stdgate::tools
