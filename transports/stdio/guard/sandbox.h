// Sandbox: what the command may reach of files and network, as the gateway asks for it, and whether
// this kernel can hold it to that.
//
// Job: the words that gateway, guard and tests share. The guard applies it (landlock.h,
// syscall_filter.h). Limits: kMaxPaths paths to read and as many to write, kMaxPorts ports each.
#pragma once

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
constexpr const char* missing_feature(FileRule files, NetworkRule network,
                                      const KernelFeatures& kernel) {
  if (!kernel.filters_syscalls) return "no system call filter (seccomp)";
  if (!can_hold_files(files, kernel)) return "no Landlock ABI 3 (Linux 6.2) for files";
  if (!can_hold_network(network, kernel)) return "no Landlock ABI 4 (Linux 6.7) for TCP ports";
  return nullptr;
}

// Asks the kernel.
KernelFeatures kernel_features();

}  // namespace stdgate::guard
