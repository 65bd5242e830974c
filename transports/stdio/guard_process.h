// The guard that each child runs under: its file, its arguments and its process; and how much of a
// sandbox this machine can enforce.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/pool/child_link.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/loop.h"
#include "transports/stdio/guard/sandbox.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

// GuardBinary: the file of stdgate-guard, found once and held open.
//
// Job: start the same guard for as long as this program runs, whatever becomes of the file: after
// an upgrade the new one may not speak this program's protocol. Owner: the process; outlives
// the ChildProcesses that use its path.
class GuardBinary {
 public:
  static constexpr const char* kFileName = "stdgate-guard";

  // `path`, or, when that is empty, kFileName in the directory of the running program. The error
  // says where it was looked for, and what was wrong.
  static tl::expected<GuardBinary, std::string> open(const std::string& path = "");

  // To be executed by this process and by its forks; it means nothing to other processes.
  [[nodiscard]] std::string path() const;

 private:
  explicit GuardBinary(net::FileDescriptor file) : file_(std::move(file)) {}

  net::FileDescriptor file_;
};

// The arguments of the guard for `spec` (guard/protocol.h); argv[0] is a name for process lists.
// `identity` is what look_identity_up() has returned for spec.user; empty if spec.user is empty.
// `cgroup`: the directory of the cgroup that the guard joins; empty: it stays in the cgroup of this
// process.
std::vector<std::string> guard_arguments(const pool::LaunchSpec& spec, const std::string& identity,
                                         const std::string& cgroup);

// "UID:GID:GID,..." of `user`, a name of the user database or a number; errno when it does not
// exist, or has more than guard::kMaxGroups groups. Reads files, and may ask the network.
tl::expected<std::string, int> look_identity_up(const std::string& user);

// The gateway's ends of a guard's descriptors.
struct GuardEnds {
  net::FileDescriptor input;    // to the command's stdin
  net::FileDescriptor output;   // from its stdout
  net::FileDescriptor errors;   // from its stderr
  net::FileDescriptor control;  // to and from the guard (guard/protocol.h)
};

// GuardProcess: a running guard.
//
// Owner: the child's link. When it goes, the libuv handle stays in a block of its own until the
// guard has exited, so no zombie is left; the loop waits for that before it ends.
class GuardProcess {
 public:
  using ExitCallback = std::function<void(int64_t code, int signal)>;

  // Null, with libuv's code in `*error`, when it cannot be started.
  // `arguments` is its argv (guard_arguments()), `environment` the command's.
  // `table` names it from now on until it has exited.
  static std::unique_ptr<GuardProcess> start(net::Loop& loop, std::shared_ptr<GuardTable> table,
                                             const std::string& binary,
                                             std::vector<std::string> arguments,
                                             const std::map<std::string, std::string>& environment,
                                             ExitCallback on_exit, GuardEnds* ends, int* error);
  ~GuardProcess();
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  [[nodiscard]] int pid() const;

  static constexpr int kPipeSize = 1 << 20;  // asked for; the kernel may give less

 private:
  struct Block;
  GuardProcess(Block* block, ExitCallback on_exit);

  Block* block_;
  ExitCallback on_exit_;
};

// --- How much of a sandbox this machine can enforce, found out before a start

// The status of this sandbox on this kernel; incomplete_starts is 0.
pool::SandboxStatus sandbox_status(const config::SandboxConfig& sandbox,
                                   const guard::KernelFeatures& kernel);

// The error, for people: paths of the sandbox that do not exist, or a required feature that the
// kernel lacks. Looks at files.
tl::expected<void, std::string> check_sandbox(const pool::LaunchSpec& spec,
                                              const guard::KernelFeatures& kernel);

// The kernel's means of confining children, and the rights of this process. Asks the kernel.
// unconfined_starts is 0.
pool::Confinement probe_confinement();

}  // namespace stdgate::stdio
