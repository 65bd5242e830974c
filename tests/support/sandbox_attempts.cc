#include "tests/support/sandbox_attempts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>

namespace stdgate::test {

namespace {

int result_of(long returned) { return returned >= 0 ? 0 : errno; }

int closing(long fd) {
  const int result = result_of(fd);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return result;
}

// Runs the attempt in a process of its own, so that success has no effect on this process.
int in_fork(const std::function<int()>& attempt) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(attempt());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int unshare_of(int flags) {
  return in_fork([flags] { return result_of(::unshare(flags)); });
}

// Calls clone(2) directly, because libc hides its flags.
int clone_with(unsigned long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return result_of(child);
}

int read_own_memory() {
  char from = 'x';
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return result_of(::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0));
}

#if defined(__x86_64__)
// Uses the system call ABI of 32-bit programs, where getpid(2) has the number 20.
int call_32_bit() {
  return in_fork([] {
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? 0 : static_cast<int>(-result);
  });
}
#endif

int connected(int fd, const sockaddr* address, socklen_t size) {
  if (fd < 0) return errno;
  const int result = result_of(::connect(fd, address, size));
  ::close(fd);
  return result;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int socket_of(int family, int type, int protocol = 0) {
  return ::socket(family, type | SOCK_CLOEXEC, protocol);
}

int pair_of(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) return errno;
  for (const int end : ends) ::close(end);
  return 0;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

int fast_open(int port) {
  const sockaddr_in address = loopback(port);
  const int fd = socket_of(AF_INET, SOCK_STREAM);
  if (fd < 0) return errno;
  const int result =
      result_of(::sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
                         reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  ::close(fd);
  return result;
}

int bind_to(int type, int port, bool listens) {
  const sockaddr_in address = loopback(port);
  const int fd = socket_of(AF_INET, type);
  if (fd < 0) return errno;
  int result = 0;
  if (port >= 0) {
    result = result_of(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  }
  if (result == 0 && listens) result = result_of(::listen(fd, 1));
  ::close(fd);
  return result;
}

int open_file(const std::string& path, int flags) {
  return closing(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600));
}

int list(const std::string& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno;
  ::closedir(directory);
  return 0;
}

// A watch on a directory would reveal the names of the files in it.
int watch(const std::string& path) {
  const int queue = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (queue < 0) return errno;
  const int result = result_of(::inotify_add_watch(queue, path.c_str(), IN_ALL_EVENTS));
  ::close(queue);
  return result;
}

// Executes a program that is in no directory: a copy of true(1) in memory.
int execute_from_memory() {
  const int program = ::open("/bin/true", O_RDONLY | O_CLOEXEC);
  const int memory = ::memfd_create("copy", MFD_CLOEXEC);
  if (program < 0 || memory < 0) return errno;
  while (::sendfile(memory, program, nullptr, 1 << 20) > 0) {
  }
  ::close(program);
  const int result = in_fork([memory] {
    std::array<char*, 2> words{const_cast<char*>("true"), nullptr};
    ::fexecve(memory, words.data(), environ);
    return errno;
  });
  ::close(memory);
  return result;
}

int execute(const std::string& path) {
  return in_fork([&path] {
    ::execl(path.c_str(), path.c_str(), "--nothing", nullptr);
    return errno;
  });
}

Attempts attempt_other_machines() {
  Attempts attempts = {{"newer_call", result_of(::syscall(470, -1, -1, -1, -1, -1, -1))}};
#if defined(__x86_64__)
  attempts.emplace_back("call_32_bit", call_32_bit());
  attempts.emplace_back("call_x32", result_of(::syscall(0x40000000 + SYS_getpid)));
#endif
  return attempts;
}

Attempts attempt_namespaces() {
  Attempts attempts = {{"setns", result_of(::setns(STDIN_FILENO, CLONE_NEWNET))},
                       {"clone_user", clone_with(CLONE_NEWUSER)},
                       {"clone3", result_of(::syscall(435, nullptr, 0))}};
  const std::pair<const char*, int> flags[] = {
      {"unshare_user", CLONE_NEWUSER},    {"unshare_mount", CLONE_NEWNS},
      {"unshare_pid", CLONE_NEWPID},      {"unshare_net", CLONE_NEWNET},
      {"unshare_uts", CLONE_NEWUTS},      {"unshare_ipc", CLONE_NEWIPC},
      {"unshare_cgroup", CLONE_NEWCGROUP}};
  for (const auto& [name, flag] : flags) attempts.emplace_back(name, unshare_of(flag));
  return attempts;
}

Attempts attempt_mounts() {
  return {{"mount", result_of(::mount("none", "/nonexistent", "tmpfs", 0, nullptr))},
          {"umount2", result_of(::umount2("/nonexistent", 0))},
          {"pivot_root", result_of(::syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"))},
          {"chroot", result_of(::chroot("/nonexistent"))},
          {"open_tree", closing(::syscall(428, AT_FDCWD, "/", O_CLOEXEC))},
          {"move_mount", result_of(::syscall(429, -1, "", -1, "", 0))},
          {"fsopen", closing(::syscall(430, "tmpfs", 0))},
          {"fsconfig", result_of(::syscall(431, -1, 0, nullptr, nullptr, 0))},
          {"fsmount", closing(::syscall(432, -1, 0, 0))},
          {"fspick", closing(::syscall(433, AT_FDCWD, "/", 0))},
          {"mount_setattr", result_of(::syscall(442, -1, "", 0, nullptr, 0))}};
}

Attempts attempt_kernel() {
  std::array<char, 256> zeros{};
  return {
      {"bpf", closing(::syscall(SYS_bpf, 0, zeros.data(), zeros.size()))},
      {"perf_event_open", closing(::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0))},
      {"userfaultfd", closing(::syscall(SYS_userfaultfd, O_CLOEXEC | 1))},
      {"init_module", result_of(::syscall(SYS_init_module, nullptr, 0, ""))},
      {"finit_module", result_of(::syscall(SYS_finit_module, -1, "", 0))},
      {"delete_module", result_of(::syscall(SYS_delete_module, "none", O_NONBLOCK))},
      {"kexec_load", result_of(::syscall(SYS_kexec_load, 0, 0, nullptr, 0))},
      {"syslog", result_of(::syscall(SYS_syslog, 10, nullptr, 0))},
      {"add_key", result_of(::syscall(SYS_add_key, "user", "x", "y", 1, -3))},
      {"request_key", result_of(::syscall(SYS_request_key, "user", "x", nullptr, 0))},
      {"keyctl", result_of(::syscall(SYS_keyctl, 0, -3, 1))},
      {"io_uring_setup", closing(::syscall(425, 1, zeros.data()))},
      {"io_uring_enter", result_of(::syscall(426, -1, 0, 0, 0, nullptr, 0))},
      {"io_uring_register", result_of(::syscall(427, -1, 0, nullptr, 0))},
      {"open_by_handle_at", closing(::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0))},
      {"fanotify_init", closing(::syscall(SYS_fanotify_init, 0, 0))},
  };
}

// The arguments are invalid, so nothing happens even where a call is allowed.
Attempts attempt_machine() {
  return {{"reboot", result_of(::syscall(SYS_reboot, 0, 0, 0, nullptr))},
          {"swapon", result_of(::syscall(SYS_swapon, "/nonexistent", 0))},
          {"acct", result_of(::syscall(SYS_acct, "/nonexistent"))},
          {"sethostname", result_of(::syscall(SYS_sethostname, nullptr, -1))},
          {"settimeofday", result_of(::syscall(SYS_settimeofday, nullptr, nullptr))},
          {"clock_settime", result_of(::syscall(SYS_clock_settime, 0, nullptr))},
          {"adjtimex", result_of(::syscall(SYS_adjtimex, nullptr))},
          {"terminal_input", result_of(::ioctl(STDIN_FILENO, TIOCSTI, "x"))}};
}

int lease_a_file() {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int result = result_of(::fcntl(fd, F_SETLEASE, F_RDLCK));
  ::close(fd);
  return result;
}

int set_file_attributes() {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  int flags = 0;
  const int result = result_of(::ioctl(fd, FS_IOC_SETFLAGS, &flags));
  ::close(fd);
  return result;
}

int set_scheduler(pid_t of) {
  const sched_param none{};
  return result_of(::sched_setscheduler(of, SCHED_IDLE, &none));
}

int set_scheduler_parameters(pid_t of) {
  const sched_param none{};
  return result_of(::sched_setparam(of, &none));
}

int set_affinity(pid_t of) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  return result_of(::sched_setaffinity(of, sizeof(all), &all));
}

Attempts attempt_processes() {
  rlimit limit{};
  std::array<char, 64> zeros{};
  return {
      {"ptrace", in_fork([] { return result_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); })},
      {"process_vm_readv", read_own_memory()},
      {"kcmp", result_of(::syscall(SYS_kcmp, ::getpid(), ::getpid(), 1, 0, 0))},
      {"pidfd_getfd", closing(::syscall(438, -1, 0, 0))},
      {"prlimit_other",
       result_of(::syscall(SYS_prlimit64, ::getppid(), RLIMIT_NOFILE, nullptr, &limit))},
      {"setpriority_other",
       result_of(::setpriority(PRIO_PROCESS, static_cast<id_t>(::getppid()), 1))},
      {"setpriority_user", in_fork([] { return result_of(::setpriority(PRIO_USER, 0, 19)); })},
      {"setpriority_group", in_fork([] { return result_of(::setpriority(PRIO_PGRP, 0, 19)); })},
      {"ioprio_other", result_of(::syscall(SYS_ioprio_set, 1, ::getppid(), 3 << 13))},
      {"ioprio_user", in_fork([] { return result_of(::syscall(SYS_ioprio_set, 3, 0, 3 << 13)); })},
      {"sched_setscheduler_other", set_scheduler(::getppid())},
      {"sched_setparam_other", set_scheduler_parameters(::getppid())},
      {"sched_setaffinity_other", set_affinity(::getppid())},
      {"sched_setattr_other",
       result_of(::syscall(SYS_sched_setattr, ::getppid(), zeros.data(), 0))},
      {"shared_memory", result_of(::shmget(IPC_PRIVATE, 1, 0600))},
      {"semaphores", result_of(::semget(IPC_PRIVATE, 1, 0600))},
      {"messages", result_of(::msgget(IPC_PRIVATE, 0600))},
      {"lease", lease_a_file()},
      {"file_attributes", set_file_attributes()}};
}

void append(Attempts& to, Attempts more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

Attempts attempt_syscalls() {
  Attempts attempts = attempt_processes();
  append(attempts, attempt_namespaces());
  append(attempts, attempt_mounts());
  append(attempts, attempt_kernel());
  append(attempts, attempt_machine());
  append(attempts, attempt_other_machines());
  return attempts;
}

Attempts attempt_sockets() {
  return {{"tcp4", closing(socket_of(AF_INET, SOCK_STREAM))},
          {"tcp6", closing(socket_of(AF_INET6, SOCK_STREAM))},
          {"udp4", closing(socket_of(AF_INET, SOCK_DGRAM))},
          {"udp6", closing(socket_of(AF_INET6, SOCK_DGRAM))},
          {"mptcp", closing(socket_of(AF_INET, SOCK_STREAM, 262))},
          {"sctp", closing(socket_of(AF_INET, SOCK_STREAM, IPPROTO_SCTP))},
          {"raw4", closing(socket_of(AF_INET, SOCK_RAW, IPPROTO_ICMP))},
          {"raw6", closing(socket_of(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6))},
          {"packet", closing(socket_of(AF_PACKET, SOCK_RAW))},
          {"route", closing(socket_of(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE))},
          {"audit", closing(socket_of(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT))},
          {"algorithms", closing(socket_of(AF_ALG, SOCK_SEQPACKET))},
          {"vsock", closing(socket_of(AF_VSOCK, SOCK_STREAM))},
          {"unix_stream", closing(socket_of(AF_UNIX, SOCK_STREAM))},
          {"unix_datagram", closing(socket_of(AF_UNIX, SOCK_DGRAM))},
          {"stream_pair", pair_of(SOCK_STREAM)},
          {"packet_pair", pair_of(SOCK_SEQPACKET)},
          {"datagram_pair", pair_of(SOCK_DGRAM)}};
}

Attempts attempt_connects(int port) {
  const sockaddr_in address = loopback(port);
  const auto connect_by = [&](int fd) {
    return connected(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  };
  return {{"tcp", connect_by(socket_of(AF_INET, SOCK_STREAM))},
          {"fast_open", fast_open(port)},
          {"mptcp", connect_by(socket_of(AF_INET, SOCK_STREAM, 262))},
          {"udp", connect_by(socket_of(AF_INET, SOCK_DGRAM))}};
}

Attempts attempt_listening(int port) {
  return {{"bind", bind_to(SOCK_STREAM, port, false)},
          {"listen", bind_to(SOCK_STREAM, port, true)},
          {"any_port", bind_to(SOCK_STREAM, 0, true)},
          {"unbound", bind_to(SOCK_STREAM, -1, true)}};
}

Attempts attempt_unix(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  const auto connect_by = [&](int fd) {
    return connected(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  };
  std::array<int, 2> ends{-1, -1};
  const int pair = result_of(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const int by_pair = pair == 0 ? connect_by(ends[0]) : pair;
  ::close(ends[1]);
  return {{"socket", connect_by(socket_of(AF_UNIX, SOCK_STREAM))}, {"pair", by_pair}};
}

Attempts attempt_reading(const std::string& path) {
  return {{"read", open_file(path, O_RDONLY)},
          {"list", list(path)},
          {"execute", execute(path)},
          {"watch", watch(path)}};
}

Attempts attempt_memory_code() { return {{"memfd", execute_from_memory()}}; }

Attempts attempt_metadata(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Attempts attempts = {{"chmod", result_of(::chmod(path.c_str(), 0700))},
                       {"fchmod", result_of(::fchmod(fd, 0700))},
                       {"chown", result_of(::chown(path.c_str(), ::getuid(), ::getgid()))},
                       {"lchown", result_of(::lchown(path.c_str(), ::getuid(), ::getgid()))},
                       {"fchown", result_of(::fchown(fd, ::getuid(), ::getgid()))},
                       {"setxattr", result_of(::setxattr(path.c_str(), "user.x", "y", 1, 0))},
                       {"removexattr", result_of(::removexattr(path.c_str(), "user.x"))},
                       {"utimensat", result_of(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0))}};
  ::close(fd);
  return attempts;
}

Attempts attempt_writing(const std::string& path) {
  const std::string old = path + "/old";
  return {{"write", open_file(old, O_WRONLY)},
          {"append", open_file(old, O_WRONLY | O_APPEND)},
          {"open_truncated", open_file(old, O_RDONLY | O_TRUNC)},
          {"truncate", result_of(::truncate(old.c_str(), 0))},
          {"create", open_file(path + "/new", O_WRONLY | O_CREAT)},
          {"mkdir", result_of(::mkdir((path + "/directory").c_str(), 0700))},
          {"rmdir", result_of(::rmdir((path + "/directory").c_str()))},
          {"symlink", result_of(::symlink("/etc/shadow", (path + "/symlink").c_str()))},
          {"link", result_of(::link(old.c_str(), (path + "/link").c_str()))},
          {"fifo", result_of(::mkfifo((path + "/fifo").c_str(), 0600))},
          {"rename", result_of(::rename(old.c_str(), (path + "/renamed").c_str()))},
          {"delete", result_of(::unlink((path + "/renamed").c_str()))}};
}

}  // namespace stdgate::test
