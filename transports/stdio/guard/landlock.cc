#include "transports/stdio/guard/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/guard/syscall_filter.h"

namespace stdgate::guard {

namespace {

// The files that every program may read and execute in a sandbox that lists files, and the devices
// that it may use: files of libc, loaders, certificates and language runtimes, and no files of a
// user or a service.
//
// Files of /etc and /proc are listed one by one, as both also hold secrets. /proc/self is the
// command; a descendant sees no /proc/self of its own.
constexpr std::array kSystemPaths{
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/run/systemd/resolve",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
};

constexpr std::array kSystemDevices{
    "/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
};

// These numbers hold on every architecture; headers may be older.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;

constexpr unsigned kAskForVersion = 1U << 0;  // LANDLOCK_CREATE_RULESET_VERSION
constexpr int kPathBeneath = 1;               // LANDLOCK_RULE_PATH_BENEATH
constexpr int kNetPort = 2;                   // LANDLOCK_RULE_NET_PORT

// Kernels that know less of it take it as long as what they do not know is 0.
struct RulesetAttributes {
  uint64_t handled_access_fs = 0;
  uint64_t handled_access_net = 0;
  uint64_t scoped = 0;
};

struct [[gnu::packed]] PathBeneathAttributes {
  uint64_t allowed_access = 0;
  int32_t parent_fd = -1;
};

struct NetPortAttributes {
  uint64_t allowed_access = 0;
  uint64_t port = 0;
};

// The rights that a rule may name for anything but a directory.
constexpr uint64_t kOfFiles =
    uint64_t{0b111} | kLandlockTruncate | kLandlockIoctl;  // EXECUTE, WRITE_FILE, READ_FILE

// A set of rules that is being written; remembers what has failed first.
class Ruleset {
 public:
  Ruleset(const LandlockPlan& plan, LandlockFailure* failure) : plan_(plan), failure_(*failure) {
    const RulesetAttributes attributes{plan.handled_files, plan.handled_network, plan.scoped};
    fd_.reset(static_cast<int>(::syscall(kCreateRuleset, &attributes, sizeof(attributes), 0)));
    if (!fd_.is_open()) fail("landlock", errno);
  }

  // Without complaint when there is no such path.
  void allow_if_there(const char* path, uint64_t access) { allow(path, access, true); }
  void allow(const char* path, uint64_t access) { allow(path, access, false); }
  void allow_port(uint16_t port, uint64_t access) {
    const NetPortAttributes rule{access & plan_.handled_network, port};
    if (failure_.error != 0 || rule.allowed_access == 0) return;
    if (::syscall(kAddRule, fd_.get(), kNetPort, &rule, 0) != 0) fail("landlock port", errno);
  }
  bool enter() {
    if (failure_.error == 0 && ::syscall(kRestrictSelf, fd_.get(), 0) != 0) fail("landlock", errno);
    return failure_.error == 0;
  }

 private:
  void allow(const char* path, uint64_t access, bool may_be_missing) {
    access &= plan_.handled_files;
    if (failure_.error != 0 || access == 0) return;
    const net::FileDescriptor fd(::open(path, O_PATH | O_CLOEXEC));
    if (!fd.is_open()) {
      if (!may_be_missing) fail_path(path, errno);
      return;
    }
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return fail_path(path, errno);
    const PathBeneathAttributes rule{S_ISDIR(facts.st_mode) ? access : access & kOfFiles, fd.get()};
    if (::syscall(kAddRule, fd_.get(), kPathBeneath, &rule, 0) != 0) fail_path(path, errno);
  }
  void fail_path(const char* path, int error) {
    failure_.is_of_path = true;
    fail(path, error);
  }
  void fail(const char* what, int error) {
    failure_.error = error;
    std::snprintf(failure_.what.data(), failure_.what.size(), "%s", what);
  }

  const LandlockPlan& plan_;
  LandlockFailure& failure_;
  net::FileDescriptor fd_;
};

uint64_t files_handled(int abi, FileRule rule) {
  uint64_t accesses = kLandlockWrites;
  if (rule == FileRule::all) accesses |= kLandlockReads;
  if (abi >= 2) accesses |= kLandlockRefer;
  if (abi >= 3) accesses |= kLandlockTruncate;
  if (abi >= 5) accesses |= kLandlockIoctl;
  return accesses;
}

}  // namespace

LandlockPlan landlock_plan(int abi, FileRule files, NetworkRule network) {
  LandlockPlan plan;
  if (abi >= 6) plan.scoped = kLandlockScopeAbstractSockets | kLandlockScopeSignals;
  if (abi >= 1 && files != FileRule::none) {
    plan.handled_files = files_handled(abi, files);
    plan.is_open = false;
  } else if (abi >= 2 && abi < 6) {
    plan.handled_files = kLandlockRefer;
  }
  if (abi >= 4 && network != NetworkRule::any) {
    plan.handled_network = kLandlockBindTcp;
    if (network != NetworkRule::outbound) plan.handled_network |= kLandlockConnectTcp;
  }
  return plan;
}

int landlock_abi() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskForVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool enter_landlock_domain(const LandlockPlan& plan, const Sandbox& sandbox, bool opens_directory,
                           const char* program, LandlockFailure* failure) {
  constexpr uint64_t kAll = ~uint64_t{0};
  Ruleset rules(plan, failure);
  if (plan.is_open) {
    rules.allow("/", kAll);
  } else {
    for (const char* path : kSystemPaths) rules.allow_if_there(path, kLandlockReads);
    for (const char* path : kSystemDevices) rules.allow_if_there(path, kAll);
    if (opens_directory) rules.allow(".", kLandlockReads);
    if (program != nullptr) rules.allow_if_there(program, kLandlockReads);
    for (const char* path : sandbox.read) rules.allow(path, kLandlockReads);
    for (const char* path : sandbox.write) rules.allow(path, kAll);
  }
  for (const uint16_t port : sandbox.connect) rules.allow_port(port, kLandlockConnectTcp);
  for (const uint16_t port : sandbox.bind) rules.allow_port(port, kLandlockBindTcp);
  return rules.enter();
}

KernelFeatures kernel_features() { return {landlock_abi(), can_filter_syscalls()}; }

}  // namespace stdgate::guard
