#include "transports/stdio/guard/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/guard/command_start.h"
#include "transports/stdio/guard/protocol.h"

namespace stdgate::guard {

namespace {

// The state of a living process; 0: it is gone.
pid_t parent_of(pid_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  const net::FileDescriptor fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!fd.is_open() || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  // "PID (NAME) STATE PARENT ...": the name may hold anything, ")" too.
  const char* const name_end = std::strrchr(text.data(), ')');
  if (name_end == nullptr || std::strlen(name_end) < 4) return 0;
  return std::atoi(name_end + 4);
}

}  // namespace

void signal_children(int signal) {
  const net::FileDescriptor list(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  if (!list.is_open()) return signal_children_by_scan(signal);
  std::array<char, 4096> chunk;
  pid_t pid = 0;  // the digits so far, as a chunk may end inside of a number
  ssize_t count = 0;
  while ((count = ::read(list.get(), chunk.data(), chunk.size())) > 0) {
    for (ssize_t i = 0; i < count; ++i) {
      const char byte = chunk[static_cast<size_t>(i)];
      if (byte >= '0' && byte <= '9') {
        pid = pid * 10 + (byte - '0');
      } else if (pid > 0) {
        ::kill(pid, signal);
        pid = 0;
      }
    }
  }
}

void signal_children_by_scan(int signal) {
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == self) ::kill(pid, signal);
  }
  ::closedir(processes);
}

namespace {

// After SIGKILL a process is gone at once or hangs in the kernel, where waiting does not help.
constexpr int64_t kKillLimitMs = 10'000;
constexpr int kKillPollMs = 10;

int64_t now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

net::FileDescriptor block_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&handled, number);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  return net::FileDescriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Otherwise the guard would hold pipes open that the command has closed.
void let_go_of_stdio() {
  const net::FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

void join_cgroup(const char* processes) {
  const net::FileDescriptor file(::open(processes, O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kSelf = "0";
  // Without the cgroup, the gateway measures the command in another way.
  [[maybe_unused]] const ssize_t written = ::write(file.get(), kSelf.data(), kSelf.size());
}

// A line of the control channel: "WORD NUMBER", or "WORD NUMBER STEP: what errno NUMBER means".
void send_line(std::string_view word, uint64_t number, const char* step = nullptr) {
  std::array<char, 512> line{};
  const int word_size = static_cast<int>(word.size());
  const auto value = static_cast<unsigned long long>(number);
  int size = 0;
  if (step == nullptr) {
    size = std::snprintf(line.data(), line.size(), "%.*s %llu\n", word_size, word.data(), value);
  } else {
    size = std::snprintf(line.data(), line.size(), "%.*s %llu %s: %s\n", word_size, word.data(),
                         value, step, std::strerror(static_cast<int>(number)));
  }
  ::send(kControlFd, line.data(), static_cast<size_t>(size), MSG_NOSIGNAL);
}

}  // namespace

Guard::Guard(const Options& options) : options_(options), signals_(block_signals()) {}

int Guard::run() {
  if (!signals_.is_open()) return fail(errno, "signalfd");
  if (options_.cgroup != nullptr) join_cgroup(options_.cgroup);
  if (!start()) return fail(errno, "fork");
  watch();
  if (exited_by_itself_ && options_.linger_ms > 0) linger();
  end_everything();
  while (!started_ && !failed_) read_start_report();  // it came as the watch ended
  if (failed_) return kNotStarted;
  report_left();
  report_cpu();
  exit_like_command();
}

bool Guard::start() {
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) return false;
  start_report_.reset(report[0]);
  const net::FileDescriptor report_writer(report[1]);
  const pid_t self = ::getpid();
  command_ = ::fork();
  if (command_ < 0) return false;
  if (command_ == 0) CommandStart(options_, report_writer.get(), self).run();
  ::setpgid(command_, command_);  // here too: a signal to the group must find it
  let_go_of_stdio();
  return true;
}

// Until the command has exited or failed to start, or the gateway wants the end.
void Guard::watch() {
  while (!failed_) {
    std::array<pollfd, 3> fds{pollfd{start_report_.get(), POLLIN, 0},
                              pollfd{signals_.get(), POLLIN, 0}, pollfd{kControlFd, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) read_start_report();
    if (fds[1].revents != 0 && take_signals()) terminate_command();
    if (fds[2].revents != 0 && !read_control()) return;
    if (command_has_exited()) {
      exited_by_itself_ = true;
      return;
    }
  }
}

// The end of the pipe says that exec has succeeded.
void Guard::read_start_report() {
  StartReport report;
  const ssize_t count = ::read(start_report_.get(), &report, sizeof(report));
  if (count == static_cast<ssize_t>(sizeof(report))) {
    const auto error = static_cast<uint64_t>(report.error);
    switch (report.kind) {
      case StartReport::Kind::failed:
        fail(report.error, report.step.data());
        break;
      case StartReport::Kind::unconfined:
        send_line(kUnconfinedLine, error, report.step.data());
        break;
      case StartReport::Kind::unsandboxed:
        send_line(kUnsandboxedLine, error, report.step.data());
        break;
    }
    return;
  }
  start_report_.reset();
  started_ = true;
  send_line(kPidLine, static_cast<uint64_t>(command_));
}

// True when a signal asks the guard to end, which is to be passed on to the command.
bool Guard::take_signals() {
  bool termination = false;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo != SIGCHLD) termination = true;
  }
  return termination;
}

// False at the end of the channel.
bool Guard::read_control() {
  std::array<char, 16> bytes{};
  const ssize_t count = ::recv(kControlFd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (std::memchr(bytes.data(), kTerminateByte, static_cast<size_t>(count)) != nullptr) {
    terminate_command();
  }
  return count > 0;
}

void Guard::terminate_command() const {
  if (!is_reaped_) ::kill(-command_, SIGTERM);
}

// Until nothing is left of what the command had started, its time is up, or the end is wanted.
void Guard::linger() {
  const int64_t began = now_ms();
  for (int64_t left = options_.linger_ms; left > 0 && reap();
       left = began + options_.linger_ms - now_ms()) {
    std::array<pollfd, 2> fds{pollfd{signals_.get(), POLLIN, 0}, pollfd{kControlFd, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(left)) < 0) continue;
    if (fds[0].revents != 0 && take_signals()) break;
    if (fds[1].revents != 0 && !read_control()) break;
  }
  send_line(kLingeredLine, static_cast<uint64_t>(now_ms() - began));
}

// Waits for orphans that have died. The command is left a zombie: while it is one, the id of its
// process group cannot be reused.
bool Guard::command_has_exited() const {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      return false;
    }
    if (info.si_pid == command_) return true;
    ::waitpid(info.si_pid, nullptr, 0);
  }
}

// Orphans become children of this process, so when it has no child left, nothing is left.
void Guard::end_everything() {
  ends_everything_ = true;
  if (!is_reaped_) ::kill(-command_, SIGKILL);
  const int64_t give_up = now_ms() + kKillLimitMs;
  do {
    signal_children(SIGKILL);
    if (!reap()) return;
    pollfd fd{signals_.get(), POLLIN, 0};
    ::poll(&fd, 1, kKillPollMs);
    take_signals();
  } while (now_ms() < give_up);
}

// False when no child is left.
bool Guard::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0) return errno != ECHILD;
    if (pid == 0) return true;
    if (pid == command_) {
      command_status_ = status;
      is_reaped_ = true;
    } else if (ends_everything_ && exited_by_itself_ && WIFSIGNALED(status) &&
               WTERMSIG(status) == SIGKILL) {
      ++left_behind_;
    }
  }
}

void Guard::report_left() const {
  if (left_behind_ > 0) send_line(kLeftLine, left_behind_);
}

void Guard::report_cpu() const {
  uint64_t microseconds = 0;
  for (const auto who : {RUSAGE_CHILDREN, RUSAGE_SELF}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      microseconds +=
          static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
    }
  }
  send_line(kCpuLine, microseconds);
}

void Guard::exit_like_command() const {
  if (WIFEXITED(command_status_)) ::_exit(WEXITSTATUS(command_status_));
  // The command has dumped its core, if it may; the guard's would only be in the way.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int number = WTERMSIG(command_status_);
  ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::kill(::getpid(), number);
  ::_exit(128 + number);
}

int Guard::fail(int error, const char* step) {
  failed_ = true;
  send_line(kFailedLine, static_cast<uint64_t>(error), step);
  return kNotStarted;
}

}  // namespace stdgate::guard
