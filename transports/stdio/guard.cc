#include "transports/stdio/guard.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "transports/net/file_descriptor.h"
#include "transports/stdio/process_tree.h"

namespace stdgate {

namespace {

constexpr const char* kName = "child-guard";
constexpr std::string_view kDirectoryOption = "--cwd";
constexpr std::string_view kUserOption = "--user";
constexpr std::string_view kCommandFollows = "--";

struct LimitOption {
  std::string_view name;
  decltype(RLIMIT_AS) resource;
  std::optional<uint64_t> ResourceLimits::*field;
};
constexpr std::array kLimitOptions{
    LimitOption{"--as", RLIMIT_AS, &ResourceLimits::address_space_bytes},
    LimitOption{"--cpu", RLIMIT_CPU, &ResourceLimits::cpu_seconds},
    LimitOption{"--nofile", RLIMIT_NOFILE, &ResourceLimits::open_files},
    LimitOption{"--nproc", RLIMIT_NPROC, &ResourceLimits::processes}};

// Exit codes of the guard itself (sysexits.h); 127 as a shell's for a command that was not started.
constexpr int kBadUsage = 64;
constexpr int kSystemFailed = 71;
constexpr int kNotStarted = 127;

// After SIGKILL a process is gone at once or hangs in the kernel, where waiting does not help.
constexpr auto kKillLimit = std::chrono::seconds(10);
constexpr int kKillPollMs = 10;

struct Options {
  const char* directory = nullptr;
  const char* user = nullptr;
  ResourceLimits limits;
  char** command = nullptr;
};

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    char* const value = argv[i + 1];
    if (name == kCommandFollows) {
      options.command = argv + i + 1;
      return options;
    }
    const auto* limit = std::ranges::find(kLimitOptions, name, &LimitOption::name);
    if (name == kDirectoryOption) {
      options.directory = value;
    } else if (name == kUserOption) {
      options.user = value;
    } else if (limit != kLimitOptions.end()) {
      uint64_t number = 0;
      const char* end = value + std::strlen(value);
      if (std::from_chars(value, end, number).ptr != end) return std::nullopt;
      options.limits.*limit->field = number;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

struct Identity {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

// A name of the user database, or a number. Looked up before the fork: it reads files.
std::optional<Identity> find_user(const char* name) {
  const passwd* entry = ::getpwnam(name);
  uid_t number = 0;
  const char* end = name + std::strlen(name);
  const bool is_number = std::from_chars(name, end, number).ptr == end;
  if (entry == nullptr && is_number) entry = ::getpwuid(number);
  if (entry == nullptr) {
    if (!is_number) return std::nullopt;
    return Identity{number, number, {}};
  }
  Identity identity{entry->pw_uid, entry->pw_gid, {}};
  int count = 0;
  ::getgrouplist(entry->pw_name, entry->pw_gid, nullptr, &count);
  identity.groups.resize(static_cast<size_t>(count));
  if (::getgrouplist(entry->pw_name, entry->pw_gid, identity.groups.data(), &count) < 0) count = 0;
  identity.groups.resize(static_cast<size_t>(count));
  return identity;
}

// Why the command does not run: sent from its process to the guard, which sees the end of the pipe
// instead when exec has succeeded.
struct StartFailure {
  int error = 0;
  std::array<char, 16> step{};
};

// The command's process between fork and exec. Each step gives false with errno set.
class CommandStart {
 public:
  CommandStart(const Options& options, const std::optional<Identity>& identity, pid_t guard)
      : options_(options), identity_(identity), guard_(guard) {}

  // Returns only when it failed; the name of the step, errno says why.
  const char* run() {
    if (::setpgid(0, 0) != 0) return "setpgid";
    if (!apply_limits()) return "setrlimit";
    if (!change_user()) return "user";
    // After the change of user, which clears it.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";
    if (::getppid() != guard_) ::_exit(kNotStarted);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
    if (options_.directory != nullptr && ::chdir(options_.directory) != 0) return "chdir";
    reset_signals();
    ::execvp(options_.command[0], options_.command);
    return "exec";
  }

 private:
  [[nodiscard]] bool apply_limits() const {
    return std::ranges::all_of(kLimitOptions, [this](const LimitOption& option) {
      const std::optional<uint64_t>& value = options_.limits.*option.field;
      if (!value) return true;
      const rlimit limit{*value, *value};
      return ::setrlimit(option.resource, &limit) == 0;
    });
  }

  [[nodiscard]] bool change_user() const {
    if (!identity_) return true;
    return ::setgroups(identity_->groups.size(), identity_->groups.data()) == 0 &&
           ::setgid(identity_->group) == 0 && ::setuid(identity_->user) == 0;
  }

  static void reset_signals() {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  const Options& options_;
  const std::optional<Identity>& identity_;
  const pid_t guard_;
};

class Guard {
 public:
  explicit Guard(const Options& options) : options_(options), signals_(block_signals()) {}

  int run() {
    if (!signals_.is_open()) return fail(errno, "signalfd");
    std::optional<Identity> identity;
    if (options_.user != nullptr) {
      identity = find_user(options_.user);
      if (!identity) return fail(ENOENT, "find user");
    }
    if (!start(identity)) return fail(errno, "fork");
    watch();
    end_everything();
    if (!started_ && !failed_) read_start_report();  // it came as the watch ended
    if (failed_) return kNotStarted;
    report_cpu();
    exit_like_command();
  }

 private:
  static FileDescriptor block_signals() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&handled, number);
    ::sigprocmask(SIG_BLOCK, &handled, nullptr);
    return FileDescriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  bool start(const std::optional<Identity>& identity) {
    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) return false;
    start_report_.reset(report[0]);
    FileDescriptor report_writer(report[1]);
    const pid_t self = ::getpid();
    command_ = ::fork();
    if (command_ < 0) return false;
    if (command_ == 0) {
      StartFailure failure;
      const char* step = CommandStart(options_, identity, self).run();
      failure.error = errno;
      std::strncpy(failure.step.data(), step, failure.step.size() - 1);
      [[maybe_unused]] const ssize_t sent = ::write(report_writer.get(), &failure, sizeof(failure));
      ::_exit(kNotStarted);
    }
    ::setpgid(command_, command_);  // whoever comes first; a signal to the group must find it
    let_go_of_stdio();
    return true;
  }

  // Else the guard would hold the pipes open that the command has closed.
  static void let_go_of_stdio() {
    const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
  }

  // Until the command has exited or failed to start, or the gateway wants the end.
  void watch() {
    while (!failed_) {
      std::array<pollfd, 3> fds{pollfd{start_report_.get(), POLLIN, 0},
                                pollfd{signals_.get(), POLLIN, 0},
                                pollfd{kGuardControlFd, POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[0].revents != 0) read_start_report();
      if (fds[1].revents != 0 && take_signals()) terminate_command();
      if (fds[2].revents != 0 && !read_control()) return;
      if (command_has_exited()) return;
    }
  }

  void read_start_report() {
    StartFailure failure;
    const ssize_t count = ::read(start_report_.get(), &failure, sizeof(failure));
    start_report_.reset();
    if (count == static_cast<ssize_t>(sizeof(failure))) {
      fail(failure.error, failure.step.data());
      return;
    }
    started_ = true;
    send("pid " + std::to_string(command_));
  }

  // True when somebody wants the guard to end: the command is to hear of it.
  bool take_signals() {
    bool termination = false;
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      if (info.ssi_signo != SIGCHLD) termination = true;
    }
    return termination;
  }

  // False at the end of the channel.
  bool read_control() {
    std::array<char, 16> bytes;
    const ssize_t count = ::recv(kGuardControlFd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (std::find(bytes.data(), bytes.data() + count, 'T') != bytes.data() + count) {
      terminate_command();
    }
    return count > 0;
  }

  void terminate_command() const { ::kill(-command_, SIGTERM); }

  // Waits for orphans that have died. The command is left a zombie: while it is one, the id of its
  // process group cannot become somebody else's.
  bool command_has_exited() const {
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
  void end_everything() {
    ::kill(-command_, SIGKILL);
    const auto give_up = std::chrono::steady_clock::now() + kKillLimit;
    do {
      for (const pid_t child : children_of(::getpid())) ::kill(child, SIGKILL);
      if (!reap()) return;
      pollfd fd{signals_.get(), POLLIN, 0};
      ::poll(&fd, 1, kKillPollMs);
      take_signals();
    } while (std::chrono::steady_clock::now() < give_up);
  }

  // False when no child is left.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0) return errno != ECHILD;
      if (pid == 0) return true;
      if (pid == command_) command_status_ = status;
    }
  }

  void report_cpu() {
    uint64_t microseconds = 0;
    for (const auto who : {RUSAGE_CHILDREN, RUSAGE_SELF}) {
      rusage usage{};
      ::getrusage(who, &usage);
      for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
        microseconds +=
            static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
      }
    }
    send("cpu " + std::to_string(microseconds));
  }

  [[noreturn]] void exit_like_command() const {
    if (WIFEXITED(command_status_)) ::_exit(WEXITSTATUS(command_status_));
    // The command has dumped its core, if it may; the guard's would only be in the way.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    const int number = WTERMSIG(command_status_);
    ::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::kill(::getpid(), number);
    ::_exit(128 + number);
  }

  int fail(int error, const char* step) {
    failed_ = true;
    send("failed " + std::to_string(error) + " " + step + ": " + std::strerror(error));
    return kNotStarted;
  }

  static void send(std::string line) {
    line += '\n';
    ::send(kGuardControlFd, line.data(), line.size(), MSG_NOSIGNAL);
  }

  const Options& options_;
  FileDescriptor signals_;
  FileDescriptor start_report_;
  pid_t command_ = 0;
  int command_status_ = SIGKILL;  // as wait(2) gives it
  bool started_ = false;
  bool failed_ = false;
};

}  // namespace

std::vector<std::string> guard_arguments(const LaunchSpec& spec) {
  std::vector<std::string> arguments{kName, kGuardArgument};
  const auto add = [&](std::string_view name, const std::string& value) {
    arguments.emplace_back(name);
    arguments.push_back(value);
  };
  if (!spec.working_directory.empty()) add(kDirectoryOption, spec.working_directory);
  if (!spec.user.empty()) add(kUserOption, spec.user);
  for (const LimitOption& option : kLimitOptions) {
    const std::optional<uint64_t>& value = spec.limits.*option.field;
    if (value) add(option.name, std::to_string(*value));
  }
  arguments.emplace_back(kCommandFollows);
  arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  return arguments;
}

int run_guard(int argc, char** argv) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options || ::fcntl(kGuardControlFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("this mode is for stdgate itself: it starts a child\n", stderr);
    return kBadUsage;
  }
  ::setsid();
  ::prctl(PR_SET_NAME, kName, 0, 0, 0);
  ::closefrom(kGuardControlFd + 1);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return kSystemFailed;
  return Guard(*options).run();
}

}  // namespace stdgate
