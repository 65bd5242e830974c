#include "transports/stdio/guard_process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "gateway/config/config_ranges.h"
#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::stdio {

namespace {

// The lowest descriptor of the guard's file: lower ones are replaced before the guard is executed.
constexpr int kLowestNumber = 10;

// Symbolic links to the program are resolved: the guard lies beside the file itself.
std::string path_beside_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / GuardBinary::kFileName).string();
}

std::string reason(const std::string& path, int error) {
  const std::string what = "cannot run its guard " + path + ": " + std::strerror(error);
  return error == ENOENT ? what + "; install stdgate-guard beside stdgate" : what;
}

}  // namespace

tl::expected<GuardBinary, std::string> GuardBinary::open(const std::string& path) {
  const std::string place = path.empty() ? path_beside_program() : path;
  const net::FileDescriptor found(::open(place.c_str(), O_PATH | O_CLOEXEC));
  if (!found.is_open()) return tl::unexpected(reason(place, errno));
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return tl::unexpected(reason(place, errno));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(reason(place, EACCES));
  net::FileDescriptor file(::fcntl(found.get(), F_DUPFD_CLOEXEC, kLowestNumber));
  if (!file.is_open()) return tl::unexpected(reason(place, errno));
  GuardBinary binary(std::move(file));
  // The path names the descriptor, so the file that was found is the file that will be executed.
  if (::access(binary.path().c_str(), X_OK) != 0) return tl::unexpected(reason(place, errno));
  return binary;
}

std::string GuardBinary::path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

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

std::vector<std::string> guard_arguments(const pool::LaunchSpec& spec, const std::string& identity,
                                         const std::string& cgroup) {
  std::vector<std::string> arguments{guard::kProcessName};
  const auto add_limit = [&](const guard::LimitOption& option,
                             const std::optional<uint64_t>& value) {
    if (value) add(arguments, option.name, std::to_string(*value));
  };
  if (!spec.working_directory.empty())
    add(arguments, guard::kDirectoryOption, spec.working_directory);
  if (!identity.empty()) add(arguments, guard::kIdentityOption, identity);
  if (!cgroup.empty()) add(arguments, guard::kCgroupOption, cgroup + "/cgroup.procs");
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

namespace {

// One descriptor each for gateway and guard; 0 or libuv's code. All are close-on-exec: libuv hands
// the guard's on.
int open_pipe(net::FileDescriptor& read_end, net::FileDescriptor& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return uv_translate_sys_error(errno);
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return 0;
}

int open_ends(GuardEnds& ours, GuardEnds& theirs) {
  std::array<int, 2> control{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control.data()) != 0) {
    return uv_translate_sys_error(errno);
  }
  ours.control.reset(control[0]);
  theirs.control.reset(control[1]);
  if (const int error = open_pipe(theirs.input, ours.input); error != 0) return error;
  if (const int error = open_pipe(ours.output, theirs.output); error != 0) return error;
  if (const int error = open_pipe(ours.errors, theirs.errors); error != 0) return error;
  // Best effort: without privileges all pipes of a user share a budget.
  ::fcntl(ours.input.get(), F_SETPIPE_SZ, GuardProcess::kPipeSize);
  ::fcntl(ours.output.get(), F_SETPIPE_SZ, GuardProcess::kPipeSize);
  return 0;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& string : strings) out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

struct GuardProcess::Block {
  uv_process_t process{};
  GuardProcess* owner = nullptr;
  const net::Loop* loop = nullptr;
  std::shared_ptr<GuardTable> table;

  void close() {
    uv_close(reinterpret_cast<uv_handle_t*>(&process),
             [](uv_handle_t* handle) { delete static_cast<Block*>(handle->data); });
  }
  static void exited(uv_process_t* process, int64_t code, int signal) {
    auto* block = static_cast<Block*>(process->data);
    GuardProcess* owner = block->owner;
    if (owner != nullptr) {
      owner->block_ = nullptr;
      owner->on_exit_(code, signal);
    }
    // Not before its owner has had what it left behind swept: that must not pass for strangers.
    block->leave_table();
    block->close();
  }
  // Another loop's guard may have its pid by now.
  void leave_table() const {
    const std::scoped_lock lock(table->mutex);
    const auto found = table->guards.find(process.pid);
    if (found != table->guards.end() && found->second.loop == loop) table->guards.erase(found);
  }
};

std::unique_ptr<GuardProcess> GuardProcess::start(
    net::Loop& loop, std::shared_ptr<GuardTable> table, const std::string& binary,
    std::vector<std::string> arguments, const std::map<std::string, std::string>& environment,
    ExitCallback on_exit, GuardEnds* ends, int* error) {
  GuardEnds theirs;
  *error = open_ends(*ends, theirs);
  if (*error != 0) return nullptr;

  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    variables.emplace_back(name).append("=").append(value);
  }
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(variables);

  std::array<uv_stdio_container_t, guard::kControlFd + 1> stdio{};
  const std::array<const net::FileDescriptor*, stdio.size()> descriptors{
      &theirs.input, &theirs.output, &theirs.errors, &theirs.control};
  for (size_t i = 0; i < stdio.size(); ++i) {
    stdio[i].flags = UV_INHERIT_FD;
    stdio[i].data.fd = descriptors[i]->get();
  }
  uv_process_options_t options{};
  options.exit_cb = &Block::exited;
  options.file = binary.c_str();
  options.args = argv.data();
  options.env = envp.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.stdio = stdio.data();

  auto block = std::make_unique<Block>();
  block->process.data = block.get();
  {
    const std::scoped_lock lock(table->mutex);
    *error = uv_spawn(loop.uv(), &block->process, &options);
    if (*error == 0) table->guards[block->process.pid] = {&loop, {}};
  }
  if (*error != 0) {
    block.release()->close();
    return nullptr;
  }
  block->loop = &loop;
  block->table = std::move(table);
  return std::unique_ptr<GuardProcess>(new GuardProcess(block.release(), std::move(on_exit)));
}

GuardProcess::GuardProcess(Block* block, ExitCallback on_exit)
    : block_(block), on_exit_(std::move(on_exit)) {
  block_->owner = this;
}

GuardProcess::~GuardProcess() {
  if (block_ != nullptr) block_->owner = nullptr;
}

int GuardProcess::pid() const { return block_ == nullptr ? 0 : block_->process.pid; }

namespace {

guard::FileRule file_rule(const config::FilesystemConfig& files) {
  if (!files.used) return guard::FileRule::none;
  return files.default_read ? guard::FileRule::writes : guard::FileRule::all;
}

guard::NetworkRule network_rule(const config::NetworkConfig& network) {
  switch (network.access) {
    case config::NetworkAccess::any:
      return guard::NetworkRule::any;
    case config::NetworkAccess::none:
      return guard::NetworkRule::none;
    case config::NetworkAccess::outbound:
      return guard::NetworkRule::outbound;
    case config::NetworkAccess::ports:
      return guard::NetworkRule::ports;
  }
  return guard::NetworkRule::any;
}

// Appends what is wrong with `path` to `problems`.
void look_at(const pool::LaunchSpec& spec, const std::string& path, std::string& problems) {
  const bool is_relative = !path.starts_with('/') && !spec.working_directory.empty();
  const std::string place = is_relative ? spec.working_directory + "/" + path : path;
  struct stat facts {};
  if (::stat(place.c_str(), &facts) == 0) return;
  const char* const reason = std::strerror(errno);
  problems.append(problems.empty() ? "\"" : "; \"").append(place).append("\": ").append(reason);
}

}  // namespace

pool::SandboxStatus sandbox_status(const config::SandboxConfig& sandbox,
                                   const guard::KernelFeatures& kernel) {
  pool::SandboxStatus status;
  if (!sandbox.used) return status;
  status.used = true;
  status.required = sandbox.required;
  const guard::FileRule files = file_rule(sandbox.filesystem);
  const guard::NetworkRule network = network_rule(sandbox.network);
  const auto add = [&](bool is_held, std::string_view what) {
    (is_held ? status.holds : status.lacks).push_back(what);
  };
  add(kernel.filters_syscalls, "system_calls");
  if (files != guard::FileRule::none) add(can_hold_files(files, kernel), "files");
  if (network != guard::NetworkRule::any) add(can_hold_network(network, kernel), "network");
  if (const char* missing = missing_feature(files, network, kernel)) status.missing = missing;
  return status;
}

tl::expected<void, std::string> check_sandbox(const pool::LaunchSpec& spec,
                                              const guard::KernelFeatures& kernel) {
  if (!spec.sandbox.used) return {};
  const pool::SandboxStatus status = sandbox_status(spec.sandbox, kernel);
  if (status.required && !status.missing.empty()) {
    return tl::unexpected("this kernel has " + std::string(status.missing));
  }
  const config::FilesystemConfig& files = spec.sandbox.filesystem;
  std::string problems;
  for (const auto* paths : {&files.read, &files.write}) {
    for (const std::string& path : *paths) look_at(spec, path, problems);
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return {};
}

pool::Confinement probe_confinement() {
  pool::Confinement found;
  const guard::KernelFeatures kernel = guard::kernel_features();
  found.landlock_abi = kernel.landlock_abi;
  found.syscalls_filtered = kernel.filters_syscalls;
  const guard::LandlockPlan plan = guard::landlock_plan(found.landlock_abi);
  found.children_apart = plan.makes_domain();
  found.signals_scoped = (plan.scoped & guard::kLandlockScopeSignals) != 0;
  found.abstract_sockets_scoped = (plan.scoped & guard::kLandlockScopeAbstractSockets) != 0;
  found.gateway_dumpable = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  found.runs_as_root = ::geteuid() == 0;
  const uint64_t permitted = guard::permitted_capabilities();
  for (const guard::Capability& capability : guard::kKeptCapabilities) {
    if (((permitted >> capability.number) & 1) != 0)
      found.capabilities.emplace_back(capability.name);
  }
  return found;
}

}  // namespace stdgate::stdio
