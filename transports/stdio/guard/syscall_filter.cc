#include "transports/stdio/guard/syscall_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace stdgate::guard {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kMachine = 0;
#endif

constexpr uint32_t refuse(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error) & SECCOMP_RET_DATA);
}
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;

// Calls since Linux 5.1 have the same number on every machine; headers may be older.
constexpr uint32_t kIoUringSetup = 425;
constexpr uint32_t kIoUringEnter = 426;
constexpr uint32_t kIoUringRegister = 427;
constexpr uint32_t kOpenTree = 428;
constexpr uint32_t kMoveMount = 429;
constexpr uint32_t kFsopen = 430;
constexpr uint32_t kFsconfig = 431;
constexpr uint32_t kFsmount = 432;
constexpr uint32_t kFspick = 433;
constexpr uint32_t kClone3 = 435;
constexpr uint32_t kPidfdGetfd = 438;
constexpr uint32_t kProcessMadvise = 440;
constexpr uint32_t kMountSetattr = 442;
constexpr uint32_t kQuotactlFd = 443;
constexpr uint32_t kFchmodat2 = 452;
constexpr uint32_t kSetxattrat = 463;
constexpr uint32_t kRemovexattrat = 466;
constexpr uint32_t kOpenTreeAttr = 467;
constexpr uint32_t kFileSetattr = 469;
// The newest that has been looked at (file_setattr, Linux 6.17). On x86_64 the calls of the x32 ABI
// lie above, too.
constexpr uint32_t kNewest = 469;

constexpr uint32_t kNotPermitted[] = {
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    kPidfdGetfd,
    kProcessMadvise,
    // Namespaces and mounts.
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    kOpenTree,
    kMoveMount,
    kFsopen,
    kFsconfig,
    kFsmount,
    kFspick,
    kMountSetattr,
    kOpenTreeAttr,
    // Files by handles, around paths.
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    // The kernel's own.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#if defined(SYS_kexec_file_load)
    SYS_kexec_file_load,
#endif
    SYS_syslog,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Memory, semaphores and messages that belong to a user, not to a process.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    // The machine.
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    kQuotactlFd,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_vhangup,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
#endif
};

// Calls that Landlock has no rule for: permissions, owners, attributes and times of files.
constexpr uint32_t kMetadata[] = {
    SYS_fchmod,       SYS_fchmodat,     kFchmodat2,     SYS_fchown,   SYS_fchownat,
    SYS_setxattr,     SYS_lsetxattr,    SYS_fsetxattr,  kSetxattrat,  SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, kRemovexattrat, kFileSetattr, SYS_utimensat,
#if defined(__x86_64__)
    SYS_chmod,        SYS_chown,        SYS_lchown,     SYS_utime,    SYS_utimes,
    SYS_futimesat,
#endif
};

// io_uring does what it is told without passing this filter.
constexpr uint32_t kUnknown[] = {kClone3, kIoUringSetup, kIoUringEnter, kIoUringRegister};

// FS_IOC_SETFLAGS and FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION and its 32-bit form.
constexpr uint32_t kSetAttributes[] = {0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40047602};

// How a process, the first argument, gets processors.
constexpr uint32_t kSchedulers[] = {SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
                                    SYS_sched_setaffinity};
constexpr uint32_t kIoPrioProcess = 1;  // IOPRIO_WHO_PROCESS

constexpr uint32_t kNewNamespace = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint32_t kSocketType = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC

// The offset of the low half of an argument; these machines are little-endian.
constexpr uint32_t argument(size_t index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + index * sizeof(uint64_t));
}

// `call` is given an argument that has one of these bits, or else allowed.
void refuse_bits(FilterProgram& out, uint32_t call, size_t index, uint32_t bits, int error) {
  const size_t block = out.begin_if_equal(call);
  out.load(argument(index));
  out.give_if_any_bit(bits, refuse(error));
  out.give(kAllow);
  out.end(block);
}

// `call` is allowed for 0 alone: the caller itself.
void allow_own(FilterProgram& out, uint32_t call, size_t index) {
  const size_t block = out.begin_if_equal(call);
  out.load(argument(index));
  out.give_if_equal(0, kAllow);
  out.give(refuse(EPERM));
  out.end(block);
}

// `call` is given this value as an argument, or else allowed.
void refuse_value(FilterProgram& out, uint32_t call, size_t index, uint32_t value) {
  const size_t block = out.begin_if_equal(call);
  out.load(argument(index));
  out.give_if_equal(value, refuse(EPERM));
  out.give(kAllow);
  out.end(block);
}

void write_ioctl(FilterProgram& out) {
  const size_t block = out.begin_if_equal(SYS_ioctl);
  out.load(argument(1));
  // Both put characters into a terminal's input.
  out.give_if_equal(TIOCSTI, refuse(EPERM));
  out.give_if_equal(TIOCLINUX, refuse(EPERM));
  // Attributes of files, by descriptors that can only read.
  for (const uint32_t command : kSetAttributes) out.give_if_equal(command, refuse(EPERM));
  out.give(kAllow);
  out.end(block);
}

// Of the caller itself: not of a group, or of all processes of a user.
void write_priority(FilterProgram& out, uint32_t call, uint32_t of_process) {
  const size_t block = out.begin_if_equal(call);
  out.load(argument(0));
  out.give_unless_equal(of_process, refuse(EPERM));
  out.load(argument(1));
  out.give_if_equal(0, kAllow);
  out.give(refuse(EPERM));
  out.end(block);
}

// Streams that are connected with each other from the start. Datagram sockets of a pair could be
// connected again, to any Unix socket.
void write_socketpair(FilterProgram& out) {
  const size_t block = out.begin_if_equal(SYS_socketpair);
  out.load(argument(1));
  out.mask(kSocketType);
  out.give_if_equal(SOCK_STREAM, kAllow);
  out.give_if_equal(SOCK_SEQPACKET, kAllow);
  out.give(refuse(EACCES));
  out.end(block);
}

// TCP and UDP as such: Landlock does not know TCP by other names (MPTCP) or other protocols.
void write_internet_socket(FilterProgram& out) {
  out.load(argument(1));
  out.mask(kSocketType);
  const size_t stream = out.begin_if_equal(SOCK_STREAM);
  out.load(argument(2));
  out.give_if_equal(0, kAllow);
  out.give_if_equal(IPPROTO_TCP, kAllow);
  out.give(refuse(EPROTONOSUPPORT));
  out.end(stream);
  const size_t datagram = out.begin_if_equal(SOCK_DGRAM);
  out.load(argument(2));
  out.give_if_equal(0, kAllow);
  out.give_if_equal(IPPROTO_UDP, kAllow);
  out.give(refuse(EPROTONOSUPPORT));
  out.end(datagram);
  out.give(refuse(EACCES));
}

void write_socket(const Sandbox& sandbox, FilterProgram& out) {
  const size_t call = out.begin_if_equal(SYS_socket);
  out.load(argument(0));
  // Programs ask for the machine's addresses so, and few go on without an answer.
  const size_t netlink = out.begin_if_equal(AF_NETLINK);
  out.load(argument(2));
  out.give_if_equal(0, kAllow);  // NETLINK_ROUTE
  out.give(refuse(EACCES));
  out.end(netlink);
  if (sandbox.network != NetworkRule::none) {
    for (const uint32_t family : {AF_INET, AF_INET6}) {
      const size_t block = out.begin_if_equal(family);
      write_internet_socket(out);
      out.end(block);
    }
    if (sandbox.unix_sockets) out.give_if_equal(AF_UNIX, kAllow);
  }
  out.give(refuse(EACCES));
  out.end(call);
}

void write_network(const Sandbox& sandbox, FilterProgram& out) {
  if (sandbox.network == NetworkRule::any) return;
  write_socket(sandbox, out);
  if (!sandbox.unix_sockets) write_socketpair(out);
  if (sandbox.network == NetworkRule::none) return;
  // Connects without passing Landlock.
  refuse_bits(out, SYS_sendto, 3, MSG_FASTOPEN, EOPNOTSUPP);
  refuse_bits(out, SYS_sendmsg, 2, MSG_FASTOPEN, EOPNOTSUPP);
  refuse_bits(out, SYS_sendmmsg, 3, MSG_FASTOPEN, EOPNOTSUPP);
  // Takes a port of its own without passing Landlock, if none was bound.
  if (sandbox.bind.count == 0) out.give_if_equal(SYS_listen, refuse(EACCES));
}

}  // namespace

void FilterProgram::add(sock_filter instruction) {
  if (size_ == kMaxSize) {
    overflown_ = true;
  } else {
    instructions_[size_++] = instruction;
  }
}

void FilterProgram::load(uint32_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }

void FilterProgram::mask(uint32_t bits) { add(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits)); }

void FilterProgram::give(uint32_t action) { add(BPF_STMT(BPF_RET | BPF_K, action)); }

void FilterProgram::give_if_equal(uint32_t value, uint32_t action) {
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
  give(action);
}

void FilterProgram::give_unless_equal(uint32_t value, uint32_t action) {
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
  give(action);
}

void FilterProgram::give_if_above(uint32_t value, uint32_t action) {
  add(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, value, 0, 1));
  give(action);
}

void FilterProgram::give_if_any_bit(uint32_t bits, uint32_t action) {
  add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
  give(action);
}

size_t FilterProgram::begin_if_equal(uint32_t value) {
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
  return size_ - 1;
}

void FilterProgram::end(size_t block) {
  const size_t length = size_ - block - 1;
  if (length > UINT8_MAX) overflown_ = true;
  instructions_[block].jf = static_cast<uint8_t>(length);
}

bool can_filter_syscalls() {
  if (kMachine == 0) return false;
  const uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void write_syscall_filter(const Sandbox& sandbox, FilterProgram& out) {
  out.load(offsetof(seccomp_data, arch));
  out.give_unless_equal(kMachine, refuse(ENOSYS));
  out.load(offsetof(seccomp_data, nr));
  out.give_if_above(kNewest, refuse(ENOSYS));
  for (const uint32_t call : kNotPermitted) out.give_if_equal(call, refuse(EPERM));
  for (const uint32_t call : kUnknown) out.give_if_equal(call, refuse(ENOSYS));
  refuse_bits(out, SYS_clone, 0, kNewNamespace, EPERM);
  write_ioctl(out);
  allow_own(out, SYS_prlimit64, 0);
  write_priority(out, SYS_setpriority, PRIO_PROCESS);
  write_priority(out, SYS_ioprio_set, kIoPrioProcess);
  for (const uint32_t call : kSchedulers) allow_own(out, call, 0);
  // A process that opens such a file waits until the lease is given back: the gateway's loop would
  // stand.
  refuse_value(out, SYS_fcntl, 1, F_SETLEASE);
  // A command that may write nowhere has nothing to change.
  if (sandbox.files != FileRule::none && sandbox.write.count == 0) {
    for (const uint32_t call : kMetadata) out.give_if_equal(call, refuse(EPERM));
  }
  // Landlock has no rule for it, and its events have the names of what may not be listed.
  if (sandbox.files == FileRule::all) out.give_if_equal(SYS_inotify_add_watch, refuse(EACCES));
  write_network(sandbox, out);
  out.give(kAllow);
}

int enter_syscall_filter(const Sandbox& sandbox) {
  FilterProgram filter;
  write_syscall_filter(sandbox, filter);
  if (!filter.is_whole()) return E2BIG;
  const sock_fprog program = filter.program();
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

}  // namespace stdgate::guard
