#include "transports/stdio/guard_arguments.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "gateway/config/config_ranges.h"
#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

namespace {

using Arguments = std::vector<std::string>;

static_assert(config::kMaxSandboxPaths <= guard::kMaxPaths &&
              config::kMaxSandboxPorts <= guard::kMaxPorts);

void add(Arguments& arguments, std::string_view name, std::string_view value) {
  arguments.emplace_back(name);
  arguments.emplace_back(value);
}

void add_network(Arguments& arguments, const config::NetworkConfig& network) {
  switch (network.access) {
    case config::NetworkAccess::any:
      return;
    case config::NetworkAccess::none:
      return add(arguments, guard::kNetworkOption, guard::kNetworkNone);
    case config::NetworkAccess::outbound:
      return add(arguments, guard::kNetworkOption, guard::kNetworkOutbound);
    case config::NetworkAccess::ports:
      break;
  }
  add(arguments, guard::kNetworkOption,
      network.unix_sockets ? guard::kNetworkPortsAndUnix : guard::kNetworkPorts);
  for (const config::Port port : network.connect) {
    add(arguments, guard::kConnectOption, port.to_string());
  }
  for (const config::Port port : network.bind) {
    add(arguments, guard::kBindOption, port.to_string());
  }
}

void add_sandbox(Arguments& arguments, const config::SandboxConfig& sandbox) {
  if (!sandbox.used) return;
  add(arguments, guard::kSandboxOption,
      sandbox.required ? guard::kSandboxRequired : guard::kSandboxWished);
  add_network(arguments, sandbox.network);
  const config::FilesystemConfig& files = sandbox.filesystem;
  if (!files.used) return;
  add(arguments, guard::kFilesOption, files.default_read ? guard::kFilesWrites : guard::kFilesAll);
  for (const std::string& path : files.read) add(arguments, guard::kReadOption, path);
  for (const std::string& path : files.write) add(arguments, guard::kWriteOption, path);
}

}  // namespace

std::vector<std::string> guard_arguments(const pool::LaunchSpec& spec,
                                         const std::string& identity) {
  std::vector<std::string> arguments{guard::kProcessName};
  const auto add_limit = [&](const guard::LimitOption& option,
                             const std::optional<uint64_t>& value) {
    if (value) add(arguments, option.name, std::to_string(*value));
  };
  if (!spec.working_directory.empty())
    add(arguments, guard::kDirectoryOption, spec.working_directory);
  if (!identity.empty()) add(arguments, guard::kIdentityOption, identity);
  add_limit(guard::kAddressSpaceLimit, spec.limits.address_space_bytes);
  add_limit(guard::kCpuLimit, spec.limits.cpu_seconds);
  add_limit(guard::kFilesLimit, spec.limits.open_files);
  add_limit(guard::kProcessesLimit, spec.limits.processes);
  add_sandbox(arguments, spec.sandbox);
  if (spec.linger > Duration::zero()) {
    const auto linger = std::chrono::ceil<std::chrono::milliseconds>(spec.linger);
    add(arguments, guard::kLingerOption, std::to_string(linger.count()));
  }
  arguments.emplace_back(guard::kCommandFollows);
  arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  return arguments;
}

tl::expected<std::string, int> look_identity_up(const std::string& user) {
  const passwd* entry = ::getpwnam(user.c_str());
  uid_t number = 0;
  const char* const end = user.data() + user.size();
  // The error counts too: a number that is too large is read to its end, and leaves `number` 0.
  const auto [rest, error] = std::from_chars(user.data(), end, number);
  const bool is_number = error == std::errc() && rest == end;
  if (entry == nullptr && is_number) entry = ::getpwuid(number);
  if (entry == nullptr) {
    if (!is_number) return tl::unexpected(ENOENT);
    return user + ":" + user + ":";
  }
  std::vector<gid_t> groups(guard::kMaxGroups);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) {
    return tl::unexpected(E2BIG);
  }
  groups.resize(static_cast<size_t>(count));
  std::string identity = std::to_string(entry->pw_uid) + ":" + std::to_string(entry->pw_gid) + ":";
  for (const gid_t group : groups) {
    if (identity.back() != ':') identity += ',';
    identity += std::to_string(group);
  }
  return identity;
}

}  // namespace stdgate::stdio
