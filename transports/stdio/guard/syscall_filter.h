// The system calls that a sandboxed command is refused (seccomp(2)), as a program for the kernel.
//
// Refused are three kinds of calls. First, calls that servers do not need and that reach other
// processes, namespaces, mounts, kernel modules, keys and the clock, or large rarely used parts of
// the kernel. Second, other system call ABIs of the machine. Third, calls that are newer than this
// list. Most get EPERM, as from a kernel that does not allow them. Calls with an older substitute
// get ENOSYS, so that libc and libuv use the substitute. Network calls are refused where Landlock
// cannot do it: see NetworkRule. For x86_64 and aarch64.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "transports/stdio/guard/sandbox.h"

namespace stdgate::guard {

// A program of the classic BPF, written forwards.
class FilterProgram {
 public:
  static constexpr size_t kMaxSize = 512;

  void load(uint32_t offset);  // of seccomp_data
  void mask(uint32_t bits);
  void give(uint32_t action);
  void give_if_equal(uint32_t value, uint32_t action);
  void give_unless_equal(uint32_t value, uint32_t action);
  void give_if_above(uint32_t value, uint32_t action);
  void give_if_any_bit(uint32_t bits, uint32_t action);
  // The instructions up to end() run only if the value equals `value`, and have to return a
  // verdict.
  [[nodiscard]] size_t begin_if_equal(uint32_t value);
  void end(size_t block);

  // False when it did not fit.
  [[nodiscard]] bool is_whole() const { return !overflown_; }
  [[nodiscard]] sock_fprog program() {
    return {static_cast<unsigned short>(size_), instructions_.data()};
  }

 private:
  void add(sock_filter instruction);

  std::array<sock_filter, kMaxSize> instructions_{};
  size_t size_ = 0;
  bool overflown_ = false;
};

// Whether this kernel runs such programs, and this file knows the machine.
bool can_filter_syscalls();

void write_syscall_filter(const Sandbox& sandbox, FilterProgram& out);

// Binds this process and all its later descendants, for ever. Needs no_new_privs. Gives 0 or errno.
int enter_syscall_filter(const Sandbox& sandbox);

}  // namespace stdgate::guard
