#include "gateway/app/config_findings.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "gateway/app/state_files.h"
#include "gateway/base/addresses.h"
#include "gateway/config/backend_facts.h"
#include "gateway/config/config_files.h"
#include "gateway/mcp/tool_lock.h"
#include "gateway/pool/child_link.h"
#include "gateway/schema/openrpc_document.h"
#include "metrics/audit/audit_file.h"
#include "transports/auth/request_signatures.h"
#include "transports/auth/tokens.h"
#include "transports/stdio/guard/sandbox.h"
#include "transports/stdio/guard_process.h"
#include "transports/stdio/program_search.h"

namespace stdgate::app {

namespace {

bool may_change_user() {
  constexpr uint64_t kNeeded = uint64_t{1} << CAP_SETUID | uint64_t{1} << CAP_SETGID;
  return (guard::permitted_capabilities() & kNeeded) == kNeeded;
}

// "auth.api_keys[2]"
std::string item_path(std::string_view list, size_t index) {
  std::string path(list);
  path.append("[").append(std::to_string(index)).append("]");
  return path;
}

// Looks at who can read files with secrets.
class Exposure {
 public:
  void look_at(std::string path, const std::string& file, std::string_view what = "keys") {
    if (file.empty() || !config::is_readable_by_all(file)) return;
    std::string message = "every user can read the ";
    message.append(what).append(" in ").append(file).append("; chmod o-r it");
    findings_.push_back({0, 0, std::move(path), std::move(message)});
  }
  // Hashes of keys are no secret.
  void look_at_keys(std::string path, const std::string& file,
                    const std::vector<std::string>& keys) {
    if (!std::ranges::all_of(keys, config::is_key_hash)) look_at(std::move(path), file);
  }
  void look_at_tls(const std::string& path, const config::TlsConfig& tls) {
    for (const std::string& file : tls.key) look_at(path + ".key", file);
  }
  void look_at_backend(const config::BackendConfig& backend) {
    const std::string path = "backends." + backend.name;
    for (const std::string& file : backend.env_files)
      look_at(path + ".env_file", file, "variables");
    for (const auto& [name, source] : backend.env_sources) {
      if (!source.is_file || source.of_principal) continue;
      std::string place = path;
      place.append(".env.").append(name);
      look_at(std::move(place), source.text, "value of " + name);
    }
  }

  Findings take() { return std::move(findings_); }

 private:
  Findings findings_;
};

}  // namespace

Findings unstartable_children(const config::Config& config,
                              const std::map<std::string, std::string>& environment) {
  const std::string own_path = std::filesystem::read_symlink("/proc/self/exe");
  const guard::KernelFeatures kernel = guard::kernel_features();
  Findings findings;
  for (const config::BackendConfig& backend : config.backends) {
    const pool::LaunchSpec spec = pool::make_launch_spec(backend, environment, own_path);
    const auto say = [&](std::string_view key, std::string what) {
      std::string path = "backends." + backend.name;
      path.append(".").append(key);
      findings.push_back({0, 0, std::move(path), std::move(what)});
    };
    if (const auto found = stdio::find_program(spec); !found) say("command", found.error().text());
    const auto run = config::package_run_of(backend.command);
    if (run && run->fetches && !backend.sandbox.reaches_network()) {
      say("sandbox", run->runner +
                         " fetches packages with each start, and the sandbox lets it reach no "
                         "network; install the package, and name its program as the command");
    }
    if (!spec.user.empty() && !may_change_user()) {
      say("user", "stdgate may not start children as " + spec.user +
                      " here: it lacks CAP_SETUID or CAP_SETGID");
    }
    if (const auto found = stdio::check_sandbox(spec, kernel); !found) {
      say("sandbox", found.error());
    } else if (const auto status = stdio::sandbox_status(spec.sandbox, kernel);
               !status.missing.empty()) {
      say("sandbox", "this kernel has " + std::string(status.missing) +
                         "; children start without that protection");
    }
  }
  return findings;
}

std::string missing_program(const config::BackendConfig& backend,
                            const std::map<std::string, std::string>& environment) {
  const std::string own_path = std::filesystem::read_symlink("/proc/self/exe");
  const auto found = stdio::find_program(pool::make_launch_spec(backend, environment, own_path));
  // What only this user may not do is left to the start.
  const bool is_missing =
      !found && (found.error().code == "not-found" || found.error().code == "one-word");
  return is_missing ? found.error().text() : std::string();
}

Findings exposed_files(const config::Config& config) {
  Exposure exposure;
  exposure.look_at("sessions.key_file", config.sessions.key_file);
  const config::AuthConfig& auth = config.auth;
  exposure.look_at_keys("auth.api_key_file", auth.api_key_file, auth.keys);
  for (size_t i = 0; i < auth.api_keys.size(); ++i) {
    exposure.look_at_keys(item_path("auth.api_keys", i) + ".file", auth.api_keys[i].file,
                          auth.api_keys[i].keys);
  }
  for (size_t i = 0; i < auth.signatures.size(); ++i) {
    exposure.look_at(item_path("auth.signatures", i) + ".secret_file",
                     auth.signatures[i].secret_file);
  }
  for (size_t i = 0; i < config.listen.size(); ++i) {
    exposure.look_at_tls(item_path("listen", i) + ".tls", config.listen[i].tls);
  }
  exposure.look_at_tls("admin.tls", config.admin.tls);
  exposure.look_at_tls("tls", config.tls);
  for (const config::BackendConfig& backend : config.backends) exposure.look_at_backend(backend);
  const config::TracesConfig& traces = config.traces;
  for (const auto& [name, source] : traces.header_sources) {
    exposure.look_at("traces.headers." + name, source.text, "value of " + name);
  }
  Findings findings = exposure.take();
  const auto collector = WebUrl::parse(traces.endpoint);
  if (!traces.headers.empty() && collector && !collector->is_safe()) {
    findings.push_back({0, 0, "traces.headers",
                        "go to another machine without TLS; use https, if they hold a credential"});
  }
  return findings;
}

Findings expired_keys(const config::Config& config, std::chrono::sys_seconds now) {
  Findings findings;
  for (size_t i = 0; i < config.auth.api_keys.size(); ++i) {
    const config::ApiKeyConfig& key = config.auth.api_keys[i];
    if (!key.is_expired(now)) continue;
    findings.push_back({0, 0, item_path("auth.api_keys", i),
                        "the key of '" + key.name + "' expired at " + key.expires});
  }
  return findings;
}

Findings unusable_audit(const config::Config& config) {
  if (!config.audit.is_used()) return {};
  const auto found = audit::AuditFile::check(config.audit.file);
  if (found) return {};
  return {{0, 0, "audit.file", found.error()}};
}

Findings unusable_state_dir(const config::Config& config) {
  if (config.state_dir.empty()) return {};
  const auto found = check_state_dir(config.state_dir);
  if (found) return {};
  return {{0, 0, "state_dir", found.error()}};
}

Findings unusable_keys(const config::Config& config) {
  Findings findings;
  for (size_t i = 0; i < config.auth.jwt.size(); ++i) {
    const config::JwtConfig& jwt = config.auth.jwt[i];
    const std::string problem = auth::check_keys(jwt.jwks);
    if (problem.empty()) continue;
    std::string message = jwt.jwks.file;
    message.append(": ").append(problem);
    findings.push_back({0, 0, item_path("auth.jwt", i) + ".jwks", std::move(message)});
  }
  for (size_t i = 0; i < config.auth.signatures.size(); ++i) {
    const config::SignatureConfig& key = config.auth.signatures[i];
    const std::string problem = auth::check_key(key);
    if (problem.empty()) continue;
    std::string message = key.secret_file.empty() ? key.public_key_file : key.secret_file;
    message.append(": ").append(problem);
    findings.push_back({0, 0, item_path("auth.signatures", i), std::move(message)});
  }
  return findings;
}

Findings unusable_locks(const config::Config& config) {
  Findings findings;
  for (const config::BackendConfig& backend : config.backends) {
    const auto locks = mcp::ToolLock::read_all(backend.lock_text);
    if (locks) continue;
    std::string message = backend.lock;
    message.append(" is no lock file: ").append(locks.error());
    findings.push_back({0, 0, "backends." + backend.name + ".lock", std::move(message)});
  }
  return findings;
}

Findings unpinned_backends(const config::Config& config) {
  Findings findings;
  for (const config::BackendConfig& backend : config.backends) {
    if (backend.pins == config::Pins::off) continue;
    const auto lock = mcp::ToolLock::read(backend.lock_text, backend.name);
    if (!lock || !lock->empty()) continue;
    std::string message = "nothing is pinned in ";
    message.append(backend.lock);
    message.append(backend.pins == config::Pins::enforce ? ", so clients see nothing"
                                                         : ", so all that it offers counts as new");
    message.append("; stdgate pin pins it");
    findings.push_back({0, 0, "backends." + backend.name + ".pins", std::move(message)});
  }
  return findings;
}

Findings unchecked_schemas(const config::Config& config) {
  constexpr size_t kMaxTold = 20;  // of a backend
  Findings findings;
  for (const config::BackendConfig& backend : config.backends) {
    if (!backend.check.any() || backend.document.document == nullptr) continue;
    const auto& unchecked = backend.document.document->unchecked();
    for (size_t i = 0; i < std::min(unchecked.size(), kMaxTold); ++i) {
      std::string message = backend.schema;
      message.append(": ").append(unchecked[i].place).append(" checks nothing: ");
      message.append(unchecked[i].why);
      findings.push_back({0, 0, "backends." + backend.name + ".schema", std::move(message)});
    }
  }
  return findings;
}

std::string pin_lines(const config::Config& config) {
  std::string lines;
  for (const config::BackendConfig& backend : config.backends) {
    const auto lock = mcp::ToolLock::read(backend.lock_text, backend.name);
    if (backend.pins == config::Pins::off || !lock) continue;
    lines.append("# ").append(backend.name).append(": ");
    for (const mcp::McpListing& list : mcp::kPinnedLists) {
      const size_t count = lock->of(list.kind).size();
      lines.append(list.kind == mcp::McpListKind::tools ? "" : ", ").append(std::to_string(count));
      lines.append(" ").append(list.singular).append(count == 1 ? "" : "s");
    }
    lines.append(" pinned in ").append(backend.lock).append("\n");
  }
  return lines;
}

std::string bridge_lines(const config::Config& config) {
  std::map<std::string, std::string> names;  // by what is said
  for (const config::BackendConfig& backend : config.backends) {
    if (backend.protocol != config::Protocol::mcp) continue;
    const std::string text = config::more_on_bridge(backend);
    if (text.empty()) continue;
    std::string& of = names[text];
    of.append(of.empty() ? "" : ", ").append(backend.name);
  }
  std::string lines;
  for (const auto& [text, of] : names) {
    lines.append("# bridge of ").append(of).append(": ").append(text).append("\n");
  }
  return lines;
}

Findings exposed_url(const config::Config& config) {
  const std::string& url = config.auth.public_url;
  const auto parsed = WebUrl::parse(url);
  if (!parsed || parsed->is_safe()) return {};
  return {{0, 0, "auth.public_url",
           "clients send their credentials to '" + url +
               "' in plain text; use https, by tls: here or by a proxy in front"}};
}

}  // namespace stdgate::app
