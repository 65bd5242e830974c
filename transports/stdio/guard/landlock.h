// Landlock (landlock(7)): a domain of its own for each child, with what its sandbox asks for.
//
// On every ABI a process in a domain cannot trace processes outside of it, nor read their
// environment and memory or take their descriptors, through /proc or by system call. With ABI 6 it
// cannot signal them or connect to their abstract sockets either. Its descendants are in its
// domain. Nothing is denied for files and network unless the sandbox says so. The kernel is asked
// at run time; it may be newer than our headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transports/stdio/guard/sandbox.h"

namespace stdgate::guard {

inline constexpr uint64_t kLandlockRefer = uint64_t{1} << 13;     // LANDLOCK_ACCESS_FS_REFER
inline constexpr uint64_t kLandlockTruncate = uint64_t{1} << 14;  // with ABI 3
inline constexpr uint64_t kLandlockIoctl = uint64_t{1} << 15;     // of devices, with ABI 5
inline constexpr uint64_t kLandlockBindTcp = uint64_t{1} << 0;    // these two with ABI 4
inline constexpr uint64_t kLandlockConnectTcp = uint64_t{1} << 1;
inline constexpr uint64_t kLandlockScopeAbstractSockets = uint64_t{1} << 0;
inline constexpr uint64_t kLandlockScopeSignals = uint64_t{1} << 1;

// EXECUTE, READ_FILE, READ_DIR.
inline constexpr uint64_t kLandlockReads = uint64_t{1} << 0 | uint64_t{1} << 2 | uint64_t{1} << 3;
// WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_CHAR to MAKE_SYM.
inline constexpr uint64_t kLandlockWrites = uint64_t{1} << 1 | ((uint64_t{1} << 13) - (1 << 4));

// The parts of a domain; a domain has to handle something.
struct LandlockPlan {
  uint64_t handled_files = 0;  // accesses to files
  uint64_t scoped = 0;
  uint64_t handled_network = 0;
  bool is_open = true;  // the handled accesses to files are allowed everywhere

  [[nodiscard]] constexpr bool makes_domain() const {
    return handled_files != 0 || scoped != 0 || handled_network != 0;
  }
};

// ABI 6 has scopes, and then files need not be mentioned. Before, the right to move files between
// directories is handled and given back beneath "/"; what remains is that a domain that handles
// files may not change mounts. ABI 1 would deny such moves without a way to allow them, so there it
// is left alone unless a sandbox asks for more.
LandlockPlan landlock_plan(int abi, FileRule files = FileRule::none,
                           NetworkRule network = NetworkRule::any);

// The failure, for people; errno in `error`.
struct LandlockFailure {
  int error = 0;
  bool is_of_path = false;  // of the sandbox; else the kernel's
  std::array<char, 160> what{};
};

// 0 where the kernel has none, or has it switched off.
int landlock_abi();

// Binds this process and all its later descendants, for ever. Needs no_new_privs. Relative paths of
// `sandbox` are relative to the working directory, which can be read if `opens_directory`; so can
// `program`, null or the path of a file, and both be executed. False, and `failure`, when it was
// not done.
bool enter_landlock_domain(const LandlockPlan& plan, const Sandbox& sandbox, bool opens_directory,
                           const char* program, LandlockFailure* failure);

}  // namespace stdgate::guard
