// hostile_child: a stdio JSON-RPC child that tries what a child must not be able to do.
//
// Methods and their results. The result of an attempt is 0, or errno:
//   attack {"pid": N}       attacks the process N in every way: {"environ": 13, "kill": 1, ...}
//   attack_own {}           attacks a child of its own, which is allowed
//   connect {"name": "x"}   connects to the abstract socket "x": {"connect": 1}
//   capabilities {}         reports its capabilities: {"effective": MASK}
//   kill {"pid": N, "signal": S}   sends the signal: {"kill": 0}
//   syscalls {}, sockets {}, connects {"port": N}, listening {"port": N}, unix {"path": "x"},
//   reading {"path": "x"}, metadata {"path": "x"}, writing {"path": "x"}, memory_code {}
//                           make the attempts of sandbox_attempts.h
//   again {"call": "x", ...}  a detached descendant executes this program again, with LD_PRELOAD,
//                           and attempts the method "x" with these params
//   descriptors {}          lists the open descriptors beside 0, 1 and 2: {"3": 0, ...}
//   fork_bomb {}            forks until fork(2) fails: {"forks": N, "fork": 11}, the number of
//                           living processes and the errno
//   outlive {}              leaves a detached descendant that ignores signals: {"pid": N}
//   run_as_root {"path": "x"}  executes the copy of this program at `path`, to see whether it is
//                           setuid: {"run": 0} if it runs as root
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sandbox_attempts.h"

namespace {

int result_of(long returned) { return returned >= 0 ? 0 : errno; }

int close_result(long fd) {
  const int result = result_of(fd);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return result;
}

std::string proc(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

int open_file(pid_t pid, const char* file, int flags) {
  return close_result(::open(proc(pid, file).c_str(), flags | O_CLOEXEC | O_NONBLOCK));
}

int read_file(pid_t pid, const char* file) {
  const int fd = ::open(proc(pid, file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  std::array<char, 64> bytes;
  const int result = result_of(::read(fd, bytes.data(), bytes.size()));
  ::close(fd);
  return result;
}

int read_link(pid_t pid, const char* file) {
  std::array<char, 64> bytes;
  return result_of(::readlink(proc(pid, file).c_str(), bytes.data(), bytes.size()));
}

// Whether any descriptor can be opened, or its link read. The process's own user may list the
// descriptors in any case.
int reach_descriptors(pid_t pid) {
  DIR* const list = ::opendir(proc(pid, "fd").c_str());
  if (list == nullptr) return errno;
  int result = ENOENT;
  while (const dirent* entry = ::readdir(list)) {
    if (entry->d_name[0] == '.') continue;
    const std::string file = std::string("fd/") + entry->d_name;
    result = open_file(pid, file.c_str(), O_PATH);
    if (result != 0) result = read_link(pid, file.c_str());
    if (result == 0) break;
  }
  ::closedir(list);
  return result;
}

// Reads an address where nothing is mapped: EFAULT shows that access was granted.
int read_memory(pid_t pid) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(8), 1};
  const int result = result_of(::process_vm_readv(pid, &here, 1, &there, 1, 0));
  return result == EFAULT ? 0 : result;
}

int write_memory(pid_t pid) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(8), 1};
  const int result = result_of(::process_vm_writev(pid, &here, 1, &there, 1, 0));
  return result == EFAULT ? 0 : result;
}

int trace(pid_t pid, __ptrace_request request) {
  const int result = result_of(::ptrace(request, pid, nullptr, nullptr));
  if (result == 0) {
    if (request == PTRACE_SEIZE) ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
    ::waitpid(pid, nullptr, __WALL);
    ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  }
  return result;
}

int with_pidfd(pid_t pid, const std::function<int(int)>& use) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno;
  const int result = use(fd);
  ::close(fd);
  return result;
}

using stdgate::test::Attempts;

// SIGURG is ignored by default, so a signal that gets through does no harm.
Attempts attack(pid_t pid) {
  const auto kcmp = [pid] {
    return result_of(::syscall(SYS_kcmp, ::getpid(), pid, KCMP_VM, 0, 0));
  };
  return {
      {"environ", read_file(pid, "environ")},
      {"auxv", read_file(pid, "auxv")},
      {"maps", read_file(pid, "maps")},
      {"mem", open_file(pid, "mem", O_RDONLY)},
      {"mem_write", open_file(pid, "mem", O_RDWR)},
      {"fd", reach_descriptors(pid)},
      {"fd_0", open_file(pid, "fd/0", O_RDONLY)},
      {"fd_1", open_file(pid, "fd/1", O_WRONLY)},
      {"fd_2", open_file(pid, "fd/2", O_WRONLY)},
      {"cwd", read_link(pid, "cwd")},
      {"root", open_file(pid, "root", O_PATH)},
      {"exe", read_link(pid, "exe")},
      {"process_vm_readv", read_memory(pid)},
      {"process_vm_writev", write_memory(pid)},
      {"ptrace_attach", trace(pid, PTRACE_ATTACH)},
      {"ptrace_seize", trace(pid, PTRACE_SEIZE)},
      {"kcmp", kcmp()},
      {"pidfd_getfd",
       with_pidfd(pid, [](int fd) { return close_result(::syscall(SYS_pidfd_getfd, fd, 0, 0)); })},
      {"kill", result_of(::kill(pid, SIGURG))},
      {"kill_0", result_of(::kill(pid, 0))},
      {"tgkill", result_of(::syscall(SYS_tgkill, pid, pid, SIGURG))},
      {"pidfd_send_signal", with_pidfd(pid, [](int fd) {
         return result_of(::syscall(SYS_pidfd_send_signal, fd, SIGURG, nullptr, 0));
       })}};
}

Attempts attack_own() {
  // The forked process must not hold a descriptor of the gateway open.
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {{"pipe", errno}};
  const pid_t own = ::fork();
  if (own == 0) {
    for (;;) ::pause();
  }
  Attempts attempts = attack(own);
  attempts.emplace_back("kill", result_of(::kill(own, SIGKILL)));
  ::waitpid(own, nullptr, 0);
  for (const int end : ends) ::close(end);
  return attempts;
}

Attempts connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int result = result_of(::connect(fd, reinterpret_cast<sockaddr*>(&address), size));
  ::close(fd);
  return {{"connect", result}};
}

// The text of a member, without quotes. The input is trusted to be well formed.
std::string member(const std::string& json, const std::string& name) {
  const size_t key = json.find('"' + name + "\":");
  if (key == std::string::npos) return "";
  size_t begin = key + name.size() + 3;
  if (json[begin] == '"') ++begin;
  return json.substr(begin, json.find_first_of("\",}", begin) - begin);
}

pid_t pid_in(const std::string& json) { return std::atoi(member(json, "pid").c_str()); }

std::string effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  ::syscall(SYS_capget, &header, data.data());
  const auto mask = data[0].effective | static_cast<unsigned long long>(data[1].effective) << 32;
  return "{\"effective\":" + std::to_string(mask) + "}";
}

std::string text_of(const Attempts& attempts) {
  std::string text = "{";
  for (const auto& [name, result] : attempts) {
    if (text.size() > 1) text += ',';
    text += '"' + name + "\":" + std::to_string(result);
  }
  return text + "}";
}

Attempts open_descriptors() {
  Attempts found;
  DIR* const list = ::opendir("/proc/self/fd");
  if (list == nullptr) return {{"opendir", errno}};
  while (const dirent* entry = ::readdir(list)) {
    const int fd = std::atoi(entry->d_name);
    if (fd > STDERR_FILENO && fd != ::dirfd(list)) found.emplace_back(entry->d_name, 0);
  }
  ::closedir(list);
  return found;
}

// The limit if nothing else stops the fork bomb.
constexpr int kMaxForks = 500;

Attempts fork_bomb() {
  std::vector<pid_t> children;
  int error = 0;
  while (error == 0 && children.size() < kMaxForks) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    if (child > 0) children.push_back(child);
    error = result_of(child);
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return {{"forks", static_cast<int>(children.size())}, {"fork", error}};
}

// Runs `work` in a session of its own, in a process whose parent has ended. The output comes back
// through a pipe.
std::string detached(const std::function<void(int out)>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    work(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  std::string output;
  std::array<char, 4096> bytes;
  for (ssize_t count = 0; (count = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    output.append(bytes.data(), static_cast<size_t>(count));
  }
  ::close(ends[0]);
  return output;
}

std::string outlive() {
  return detached([](int out) {
    for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_IGN);
    const std::string text = "{\"pid\":" + std::to_string(::getpid()) + "}";
    if (::write(out, text.data(), text.size()) < 0) return;
    ::close(out);
    for (const int fd : {0, 1, 2}) ::close(fd);
    for (;;) ::pause();
  });
}

constexpr const char* kAnswer = "--answer";
constexpr const char* kAmIRoot = "--am-i-root";

// `program`: the path by which this program was started.
std::string again(const char* program, std::string line) {
  line.replace(line.find("\"method\""), 8, "\"former\"");
  line.replace(line.find("\"call\""), 6, "\"method\"");
  return detached([&](int out) {
    ::dup2(out, STDOUT_FILENO);
    ::setenv("LD_PRELOAD", "/nonexistent.so", 1);
    ::execl(program, program, kAnswer, line.c_str(), nullptr);
  });
}

Attempts run_as_root(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(path.c_str(), path.c_str(), kAmIRoot, nullptr);
    ::_exit(errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {{"run", WIFEXITED(status) ? WEXITSTATUS(status) : -1}};
}

const char* this_program = nullptr;

std::string sandbox_answer(const std::string& method, const std::string& line) {
  namespace test = stdgate::test;
  const int port = std::atoi(member(line, "port").c_str());
  const std::string path = member(line, "path");
  if (method == "syscalls") return text_of(test::attempt_syscalls());
  if (method == "sockets") return text_of(test::attempt_sockets());
  if (method == "connects") return text_of(test::attempt_connects(port));
  if (method == "listening") return text_of(test::attempt_listening(port));
  if (method == "unix") return text_of(test::attempt_unix(path));
  if (method == "reading") return text_of(test::attempt_reading(path));
  if (method == "memory_code") return text_of(test::attempt_memory_code());
  if (method == "metadata") return text_of(test::attempt_metadata(path));
  if (method == "writing") return text_of(test::attempt_writing(path));
  if (method == "descriptors") return text_of(open_descriptors());
  if (method == "fork_bomb") return text_of(fork_bomb());
  if (method == "run_as_root") return text_of(run_as_root(path));
  if (method == "outlive") return outlive();
  if (method == "again") return again(this_program, line);
  return "null";
}

std::string answer(const std::string& line) {
  const std::string method = member(line, "method");
  if (method == "attack") return text_of(attack(pid_in(line)));
  if (method == "attack_own") return text_of(attack_own());
  if (method == "connect") return text_of(connect_to(member(line, "name")));
  if (method == "kill") {
    const int signal = std::atoi(member(line, "signal").c_str());
    return text_of({{"kill", result_of(::kill(pid_in(line), signal))}});
  }
  if (method == "capabilities") return effective_capabilities();
  return sandbox_answer(method, line);
}

}  // namespace

int main(int argc, char** argv) {
  this_program = argv[0];
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == kAmIRoot) return ::geteuid() == 0 ? 0 : EPERM;
  if (mode == kAnswer) {
    std::cout << answer(argc > 2 ? argv[2] : "") << std::flush;
    return 0;
  }
  if (!mode.empty()) return 0;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string id = member(line, "id");
    std::cout << R"({"jsonrpc":"2.0","id":)" << id << R"(,"result":)" << answer(line) << "}"
              << std::endl;
  }
  return 0;
}
