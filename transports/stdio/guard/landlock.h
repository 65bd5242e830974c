// Landlock (landlock(7)) as far as it keeps children apart: a domain of its own for each.
//
// On every ABI a process in a domain cannot trace processes outside of it, nor read their
// environment and memory or take their descriptors, through /proc or by system call. With ABI 6 it
// cannot signal them or connect to their abstract sockets either. Its descendants are in its
// domain. Nothing is denied for files. The kernel is asked at run time; it may be newer than our
// headers.
#pragma once

#include <cstdint>

namespace stdgate::guard {

inline constexpr uint64_t kLandlockRefer = uint64_t{1} << 13;  // LANDLOCK_ACCESS_FS_REFER
inline constexpr uint64_t kLandlockScopeAbstractSockets = uint64_t{1} << 0;
inline constexpr uint64_t kLandlockScopeSignals = uint64_t{1} << 1;

// What a domain is made of; a domain has to handle something.
struct LandlockPlan {
  uint64_t handled_files = 0;  // accesses to files, and allowed everywhere
  uint64_t scoped = 0;

  [[nodiscard]] constexpr bool makes_domain() const { return handled_files != 0 || scoped != 0; }
};

// ABI 6 has scopes, and then files need not be mentioned. Before, the right to move files between
// directories is handled and given back beneath "/"; what remains is that a domain that handles
// files may not change mounts. ABI 1 would deny such moves without a way to allow them, so there it
// is left alone.
constexpr LandlockPlan landlock_plan(int abi) {
  if (abi >= 6) return {0, kLandlockScopeAbstractSockets | kLandlockScopeSignals};
  if (abi >= 2) return {kLandlockRefer, 0};
  return {};
}

// 0 where the kernel has none, or has it switched off.
int landlock_abi();

// For this process and all that it will start, for ever. Needs no_new_privs. Gives 0 or errno.
int enter_landlock_domain(const LandlockPlan& plan);

}  // namespace stdgate::guard
