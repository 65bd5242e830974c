#include "gateway/config/backend_facts.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

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

namespace {

struct Runner {
  std::string_view program;
  std::string_view word;  // behind it; empty: none is needed
  bool is_npm = false;    // asks before it installs, unless it is told
};

constexpr std::array kRunners{
    Runner{"npx", "", true}, Runner{"npm", "exec", true}, Runner{"npm", "x", true},
    Runner{"pnpx", ""},      Runner{"pnpm", "dlx"},       Runner{"yarn", "dlx"},
    Runner{"bunx", ""},      Runner{"bun", "x"},          Runner{"uvx", ""},
    Runner{"pipx", "run"},
};
constexpr std::array<std::string_view, 5> kInstall = {"-y", "--yes", "--no", "--no-install", "-n"};
constexpr std::array<std::string_view, 4> kOffline = {"--offline", "--no", "--no-install",
                                                      "--prefer-offline"};
// Options whose value is another word.
constexpr std::array<std::string_view, 8> kWithValue = {"-p",     "--package", "--from", "--with",
                                                        "--spec", "--python",  "-c",     "--call"};
constexpr std::array<std::string_view, 4> kPackage = {"-p", "--package", "--from", "--spec"};

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// "@scope/name@1.2" is "@scope/name", "name[extra]==1.2" is "name".
std::string without_version(std::string_view package) {
  const size_t at = package.find('@', 1);
  return std::string(package.substr(0, std::min(at, package.find_first_of("=<>~![", 1))));
}

// The options in front of the package.
void read_options(std::span<const std::string> words, PackageRun& run) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") continue;
    if (!word.starts_with('-')) {
      if (run.package.empty()) run.package = without_version(word);
      return;
    }
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (is_one_of(name, kInstall)) run.may_ask = false;
    if (is_one_of(name, kOffline)) run.fetches = false;
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (is_one_of(name, kWithValue) && i + 1 < words.size()) {
      value = words[++i];
    }
    if (is_one_of(name, kPackage)) run.package = without_version(value);
  }
}

}  // namespace

std::optional<PackageRun> package_run_of(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const std::string_view path = command[0];
  const std::string_view program = path.substr(path.rfind('/') + 1);
  for (const Runner& runner : kRunners) {
    if (program != runner.program) continue;
    if (!runner.word.empty() && (command.size() < 2 || command[1] != runner.word)) continue;
    PackageRun run;
    run.words = runner.word.empty() ? 1 : 2;
    run.runner = runner.program;
    if (!runner.word.empty()) run.runner.append(" ").append(runner.word);
    run.may_ask = runner.is_npm;
    read_options(std::span(command).subspan(run.words), run);
    return run;
  }
  return std::nullopt;
}

bool may_fetch(const BackendConfig& backend) {
  const auto run = package_run_of(backend.command);
  return run && run->fetches && backend.sandbox.reaches_network();
}

Duration start_time_of(const BackendConfig& backend) {
  return backend.pool.start_timeout +
         (may_fetch(backend) ? backend.pool.fetch_timeout : Duration{0});
}

ModernClients modern_clients(const BackendConfig& backend) {
  if (backend.bridge == Bridge::off) {
    return {"clients of MCP 2026-07-28 have to open a session",
            "for those that cannot: bridge: auto with isolation: principal or shared, or bridge: "
            "true"};
  }
  switch (backend.isolation) {
    case Isolation::principal:
      return {"clients of MCP 2026-07-28 are served by the process of their principal", {}};
    case Isolation::shared:
      return {"clients of MCP 2026-07-28 share processes with all others", {}};
    case Isolation::session:
      break;
  }
  if (backend.bridge == Bridge::on) {
    return {"each call of an anonymous client of MCP 2026-07-28 has a process of its own", {}};
  }
  return {"clients of MCP 2026-07-28 have to open a session",
          "for those that cannot: isolation: principal, isolation: shared, or bridge: true"};
}

ModernClients modern_clients_of_servers(const BackendConfig& backend) {
  if (backend.bridge == Bridge::off) {
    return {"clients of MCP 2026-07-28 do without it",
            "for these: bridge: true, isolation: principal or isolation: shared"};
  }
  if (backend.isolation != Isolation::session) return modern_clients(backend);
  return {"each call of an anonymous client of MCP 2026-07-28 has a process of its own",
          "where it keeps something between calls: isolation: principal, or bridge: false"};
}

ModernClients modern_clients_of_both_eras(const BackendConfig& backend) {
  // Legacy sessions share it.
  const bool is_shared_as_legacy =
      backend.isolation == Isolation::shared && backend.revision != Revision::modern;
  const bool is_each_principals = backend.isolation == Isolation::principal;
  if (backend.revision == Revision::legacy || is_shared_as_legacy || is_each_principals) {
    return modern_clients(backend);
  }
  return {"clients of MCP 2026-07-28 share its processes, and what these keep in memory",
          "where they must not: isolation: principal, or revision: legacy for sessions alone"};
}

std::string more_on_bridge(const BackendConfig& backend) {
  if (backend.revision == Revision::modern) return {};
  std::string text(modern_clients(backend).advice);
  if (backend.bridge != Bridge::automatic || backend.isolation != Isolation::session) return text;
  const ModernClients in_servers = modern_clients_of_servers(backend);
  text.append(text.empty() ? "" : ". ").append("In a virtual server: ").append(in_servers.what);
  return text.append("; ").append(in_servers.advice);
}

}  // namespace stdgate::config
