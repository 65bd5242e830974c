// Runs the system call filter as the kernel does, for the machine that this test is compiled for.
// Numbers that the filter defines itself are compared with the names in the headers.
//
// tests/packages also runs this test for arm64, with qemu-user, which has no seccomp(2).
#include "transports/stdio/guard/syscall_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace stdgate::guard {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kThisMachine = AUDIT_ARCH_X86_64;
constexpr uint32_t kOtherMachine = AUDIT_ARCH_AARCH64;
#elif defined(__aarch64__)
constexpr uint32_t kThisMachine = AUDIT_ARCH_AARCH64;
constexpr uint32_t kOtherMachine = AUDIT_ARCH_X86_64;
#endif

seccomp_data call(long number, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kThisMachine;
  data.args[0] = first;
  data.args[1] = second;
  data.args[2] = third;
  return data;
}

// The filter's verdict: the errno, 0 if the call is allowed, -1 for an invalid verdict.
int verdict(const Sandbox& sandbox, const seccomp_data& data) {
  FilterProgram filter;
  write_syscall_filter(sandbox, filter);
  EXPECT_TRUE(filter.is_whole());
  const sock_fprog program = filter.program();
  uint32_t value = 0;
  for (size_t at = 0; at < program.len; ++at) {
    const sock_filter& step = program.filter[at];
    bool holds = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + step.k, sizeof value);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        value &= step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = value == step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        holds = value > step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        holds = (value & step.k) != 0;
        break;
      case BPF_RET | BPF_K:
        if (step.k == SECCOMP_RET_ALLOW) return 0;
        return (step.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO
                   ? static_cast<int>(step.k & SECCOMP_RET_DATA)
                   : -1;
      default:
        return -1;
    }
    at += holds ? step.jt : step.jf;
  }
  return -1;
}

int verdict(const seccomp_data& data) { return verdict(Sandbox{}, data); }

TEST(SyscallFilter, CallsOfOtherMachinesAreUnknown) {
  seccomp_data data = call(SYS_read);
  EXPECT_EQ(verdict(data), 0);
  data.arch = kOtherMachine;
  EXPECT_EQ(verdict(data), ENOSYS);
  data.arch = AUDIT_ARCH_ARM;
  EXPECT_EQ(verdict(data), ENOSYS);
}

TEST(SyscallFilter, WhatServersNeedIsAllowed) {
  for (const long number :
       {SYS_read, SYS_write, SYS_openat, SYS_close, SYS_mmap, SYS_execve, SYS_exit_group, SYS_clone,
        SYS_futex, SYS_epoll_pwait, SYS_wait4, SYS_kill, SYS_getrandom, SYS_statx, SYS_rseq,
        SYS_socket, SYS_fchmod, SYS_prlimit64}) {
    EXPECT_EQ(verdict(call(number)), 0) << number;
  }
}

// Numbers that the filter defines itself must agree with the names in the headers, as far as the
// headers have these names.
TEST(SyscallFilter, OwnNumbersAreThoseOfTheHeaders) {
  struct Case {
    long number;
    int error;
  };
  const Case cases[] = {
    {SYS_io_uring_setup, ENOSYS},
    {SYS_io_uring_enter, ENOSYS},
    {SYS_io_uring_register, ENOSYS},
    {SYS_clone3, ENOSYS},
    {SYS_open_tree, EPERM},
    {SYS_move_mount, EPERM},
    {SYS_fsopen, EPERM},
    {SYS_fsconfig, EPERM},
    {SYS_fsmount, EPERM},
    {SYS_fspick, EPERM},
    {SYS_pidfd_getfd, EPERM},
    {SYS_process_madvise, EPERM},
    {SYS_mount_setattr, EPERM},
    {SYS_quotactl_fd, EPERM},
#if defined(SYS_open_tree_attr)
    {SYS_open_tree_attr, EPERM},
#endif
    // Neighbours in the same part of the table.
    {SYS_pidfd_send_signal, 0},
    {SYS_pidfd_open, 0},
    {SYS_openat2, 0},
    {SYS_close_range, 0},
    {SYS_faccessat2, 0},
    {SYS_epoll_pwait2, 0},
    {SYS_landlock_create_ruleset, 0}
  };
  for (const Case& c : cases) EXPECT_EQ(verdict(call(c.number)), c.error) << c.number;
}

TEST(SyscallFilter, NothingNewerThanTheList) {
  EXPECT_EQ(verdict(call(469)), 0);  // file_setattr, Linux 6.17
  EXPECT_EQ(verdict(call(470)), ENOSYS);
}

TEST(SyscallFilter, WhatReachesOtherProcessesAndTheKernelIsRefused) {
  for (const long number : {SYS_ptrace,
                            SYS_process_vm_readv,
                            SYS_process_vm_writev,
                            SYS_kcmp,
                            SYS_unshare,
                            SYS_setns,
                            SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_chroot,
                            SYS_bpf,
                            SYS_perf_event_open,
                            SYS_userfaultfd,
                            SYS_init_module,
                            SYS_finit_module,
                            SYS_delete_module,
                            SYS_kexec_load,
                            SYS_keyctl,
                            SYS_shmget,
                            SYS_reboot,
                            SYS_clock_settime}) {
    EXPECT_EQ(verdict(call(number)), EPERM) << number;
  }
  EXPECT_EQ(verdict(call(SYS_clone, SIGCHLD)), 0);
  EXPECT_EQ(verdict(call(SYS_clone, SIGCHLD | CLONE_NEWUSER)), EPERM);
  EXPECT_EQ(verdict(call(SYS_prlimit64, 1)), EPERM);
}

TEST(SyscallFilter, SocketsFollowTheNetworkRule) {
  Sandbox none;
  none.network = NetworkRule::none;
  EXPECT_EQ(verdict(none, call(SYS_socket, AF_INET, SOCK_STREAM)), EACCES);
  Sandbox outbound;
  outbound.network = NetworkRule::outbound;
  EXPECT_EQ(verdict(outbound, call(SYS_socket, AF_INET, SOCK_STREAM)), 0);
  EXPECT_EQ(verdict(outbound, call(SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP)),
            EPROTONOSUPPORT);
  EXPECT_EQ(verdict(outbound, call(SYS_socket, AF_PACKET, SOCK_RAW)), EACCES);
  EXPECT_EQ(verdict(outbound, call(SYS_listen)), EACCES);
  EXPECT_EQ(verdict(call(SYS_listen)), 0);
}

TEST(SyscallFilter, MetadataStaysWhereNothingMayBeWritten) {
  Sandbox reading;
  reading.files = FileRule::writes;
  for (const long number :
       {SYS_fchmod, SYS_fchmodat, SYS_fchownat, SYS_setxattr, SYS_removexattr, SYS_utimensat}) {
    EXPECT_EQ(verdict(reading, call(number)), EPERM) << number;
  }
  // fchmodat2, setxattrat, removexattrat and file_setattr: newer headers name them, and the numbers
  // are the same on each machine.
  for (const long number : {452, 463, 466, 469})
    EXPECT_EQ(verdict(reading, call(number)), EPERM) << number;
#if defined(SYS_fchmodat2)
  static_assert(SYS_fchmodat2 == 452);
#endif
#if defined(SYS_setxattrat)
  static_assert(SYS_setxattrat == 463 && SYS_removexattrat == 466);
#endif
#if defined(SYS_file_setattr)
  static_assert(SYS_file_setattr == 469);
#endif
}

}  // namespace
}  // namespace stdgate::guard
