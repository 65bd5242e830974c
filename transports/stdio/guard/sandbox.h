// Sandbox: the files and the network that a command may reach. Also the capabilities that it keeps.
#pragma once

#include <linux/capability.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stdgate::guard {

// Which files the command cannot reach.
enum class FileRule : uint8_t {
  none,
  writes,  // all but Sandbox::write for writing
  all      // these, and for reading all but the system's, the directory, Sandbox::read and ::write
};

enum class NetworkRule : uint8_t {
  any,
  none,      // no socket but stream pairs, and NETLINK_ROUTE
  outbound,  // TCP: connect to any port, listen nowhere
  ports      // TCP: connect to and listen at the named ports
};

// A list without allocation.
template <class T, size_t Max>
struct Bounded {
  size_t count = 0;
  std::array<T, Max> items{};

  bool add(T item) {
    if (count == Max) return false;
    items[count++] = item;
    return true;
  }
  [[nodiscard]] const T* begin() const { return items.data(); }
  [[nodiscard]] const T* end() const { return items.data() + count; }
};

inline constexpr size_t kMaxPaths = 64;
inline constexpr size_t kMaxPorts = 64;

// Sandbox: what the command may reach of files and network, as the gateway asks for it, and whether
// this kernel can hold it to that.
//
// Job: the words that gateway, guard and tests share. The guard applies it (landlock.h,
// syscall_filter.h). Limits: kMaxPaths paths to read and as many to write, kMaxPorts ports each.
struct Sandbox {
  bool is_wanted = false;
  bool is_required = false;  // the command does not run when the kernel cannot hold all of it
  FileRule files = FileRule::none;
  NetworkRule network = NetworkRule::any;
  bool unix_sockets = false;                  // with outbound and ports
  Bounded<const char*, kMaxPaths> read = {};  // relative ones: to the working directory
  Bounded<const char*, kMaxPaths> write = {};
  Bounded<uint16_t, kMaxPorts> connect = {};
  Bounded<uint16_t, kMaxPorts> bind = {};
};

// What the kernel has for sandboxes; see kernel_features().
struct KernelFeatures {
  int landlock_abi = 0;
  bool filters_syscalls = false;
};

// ABI 3 knows truncate(2): before, files could be emptied that must not be written.
inline constexpr int kAbiOfFiles = 3;
inline constexpr int kAbiOfPorts = 4;

constexpr bool can_hold_files(FileRule rule, const KernelFeatures& kernel) {
  return rule == FileRule::none || kernel.landlock_abi >= kAbiOfFiles;
}

constexpr bool can_hold_network(NetworkRule rule, const KernelFeatures& kernel) {
  if (rule == NetworkRule::any) return true;
  const bool needs_ports = rule == NetworkRule::outbound || rule == NetworkRule::ports;
  return kernel.filters_syscalls && (!needs_ports || kernel.landlock_abi >= kAbiOfPorts);
}

// The first thing that the kernel lacks, for people; null: nothing.
const char* missing_feature(FileRule files, NetworkRule network, const KernelFeatures& kernel);

// Asks the kernel.
KernelFeatures kernel_features();

// --- The capabilities (capabilities(7)) that a child keeps of the gateway's
//
// A child of a gateway that runs as root can still be an ordinary server: read and write files of
// any owner, change to another user, serve a low port, ping. All other capabilities are dropped:
// they get around what keeps a child apart (SYS_PTRACE, SYS_ADMIN, PERFMON, BPF) or change the
// machine (SYS_MODULE, NET_ADMIN, MKNOD, SYS_TIME, ...). The list is the one of container runtimes,
// without MKNOD, SETPCAP and a few that servers do not need.

struct Capability {
  int number;
  const char* name;  // as capabilities(7) has it, without "CAP_" and in small letters
};

inline constexpr std::array kKeptCapabilities{
    Capability{CAP_CHOWN, "chown"},     Capability{CAP_DAC_OVERRIDE, "dac_override"},
    Capability{CAP_FOWNER, "fowner"},   Capability{CAP_FSETID, "fsetid"},
    Capability{CAP_KILL, "kill"},       Capability{CAP_SETGID, "setgid"},
    Capability{CAP_SETUID, "setuid"},   Capability{CAP_NET_BIND_SERVICE, "net_bind_service"},
    Capability{CAP_NET_RAW, "net_raw"}, Capability{CAP_SYS_CHROOT, "sys_chroot"},
};

// The permitted capabilities of this process, one bit each.
uint64_t permitted_capabilities();

// Takes all others from this process, and from what it will execute. Gives 0 or errno.
int drop_capabilities();

}  // namespace stdgate::guard
