#include "transports/stdio/guard/sandbox.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace stdgate::guard {

namespace {

constexpr uint64_t kept_mask() {
  uint64_t mask = 0;
  for (const Capability& capability : kKeptCapabilities) mask |= uint64_t{1} << capability.number;
  return mask;
}

struct CapabilitySets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};

  bool read() { return ::syscall(SYS_capget, &header, data.data()) == 0; }
  bool write() { return ::syscall(SYS_capset, &header, data.data()) == 0; }
};

}  // namespace

const char* missing_feature(FileRule files, NetworkRule network, const KernelFeatures& kernel) {
  if (!kernel.filters_syscalls) return "no system call filter (seccomp)";
  if (!can_hold_files(files, kernel)) return "no Landlock ABI 3 (Linux 6.2) for files";
  if (!can_hold_network(network, kernel)) return "no Landlock ABI 4 (Linux 6.7) for TCP ports";
  return nullptr;
}

uint64_t permitted_capabilities() {
  CapabilitySets sets;
  if (!sets.read()) return 0;
  return sets.data[0].permitted | uint64_t{sets.data[1].permitted} << 32;
}

int drop_capabilities() {
  constexpr uint64_t kMask = kept_mask();
  CapabilitySets sets;
  if (!sets.read()) return errno;
  // The bounding set, if the process may change it. If not, no_new_privs still keeps it from
  // gaining the capabilities in it.
  for (int number = 0; number < 64; ++number) {
    const bool is_kept = ((kMask >> number) & 1) != 0;
    if (!is_kept && ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) break;
  }
  // The ambient set follows the others.
  for (size_t i = 0; i < sets.data.size(); ++i) {
    const auto mask = static_cast<uint32_t>(kMask >> (32 * i));
    sets.data[i].effective &= mask;
    sets.data[i].permitted &= mask;
    sets.data[i].inheritable &= mask;
  }
  return sets.write() ? 0 : errno;
}

}  // namespace stdgate::guard
