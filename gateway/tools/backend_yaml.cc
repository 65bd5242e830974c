#include "gateway/tools/backend_yaml.h"

#include <chrono>

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

// "90s", "1500ms"
std::string duration_text(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

}  // namespace

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

BackendLines lines_of(const config::BackendConfig& backend) {
  BackendLines lines;
  lines.name = backend.name;
  lines.command = backend.command;
  lines.cwd = backend.cwd;
  for (const auto& [name, value] : backend.env) {
    const bool is_secret = config::looks_secret(name, value);
    lines.env.emplace(name, is_secret ? yaml_reference(name) : yaml_text(value));
  }
  const config::BackendConfig defaults;
  if (backend.protocol != defaults.protocol) {
    lines.others.push_back("protocol: " + std::string(config::name_of(backend.protocol)));
  }
  const auto usual_framing = backend.protocol == config::Protocol::lsp
                                 ? rpc::Framing::content_length
                                 : rpc::Framing::newline;
  if (backend.framing != usual_framing) {
    lines.others.push_back("framing: " + std::string(config::name_of(backend.framing)));
  }
  if (backend.protocol == config::Protocol::mcp &&
      backend.revision != config::Revision::automatic) {
    lines.others.push_back("revision: " + std::string(config::name_of(backend.revision)));
  }
  if (backend.pool.start_timeout != defaults.pool.start_timeout || backend.pool.min != 0) {
    std::string pool;
    if (backend.pool.min != 0) pool = "min: " + std::to_string(backend.pool.min);
    if (backend.pool.start_timeout != defaults.pool.start_timeout) {
      pool.append(pool.empty() ? "" : ", ").append("start_timeout: ");
      pool += duration_text(backend.pool.start_timeout);
    }
    lines.others.push_back("pool: { " + pool + " }");
  }
  return lines;
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
