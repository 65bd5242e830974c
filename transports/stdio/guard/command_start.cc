#include "transports/stdio/guard/command_start.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"
#include "transports/stdio/guard/syscall_filter.h"

namespace stdgate::guard {
namespace {

// The whole of `text`.
template <class Number>
bool parse_number(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end;
}

// The text before `separator`, which is taken too; without one, the rest.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() == text.size() ? text.size() : part.size() + 1);
  return part;
}

bool parse_identity(std::string_view text, Identity* identity) {
  if (!parse_number(take_until(text, ':'), &identity->user)) return false;
  if (!parse_number(take_until(text, ':'), &identity->group)) return false;
  while (!text.empty()) {
    if (identity->group_count == identity->groups.size()) return false;
    if (!parse_number(take_until(text, ','), &identity->groups[identity->group_count++])) {
      return false;
    }
  }
  return true;
}

bool parse_limit(std::string_view name, std::string_view value, Options* options) {
  for (size_t i = 0; i < kLimitOptions.size(); ++i) {
    if (kLimitOptions[i].name != name) continue;
    uint64_t number = 0;
    if (!parse_number(value, &number)) return false;
    options->limits[i] = number;
    return true;
  }
  return false;
}

bool parse_port(std::string_view text, Bounded<uint16_t, kMaxPorts>* ports) {
  uint16_t port = 0;
  return parse_number(text, &port) && ports->add(port);
}

bool parse_network(std::string_view value, Sandbox* sandbox) {
  sandbox->unix_sockets = value == kNetworkPortsAndUnix;
  if (value == kNetworkNone) {
    sandbox->network = NetworkRule::none;
  } else if (value == kNetworkOutbound) {
    sandbox->network = NetworkRule::outbound;
  } else if (value == kNetworkPorts || value == kNetworkPortsAndUnix) {
    sandbox->network = NetworkRule::ports;
  } else {
    return false;
  }
  return true;
}

bool parse_sandbox(std::string_view name, const char* value, Sandbox* sandbox) {
  if (name == kReadOption) return sandbox->read.add(value);
  if (name == kWriteOption) return sandbox->write.add(value);
  if (name == kConnectOption) return parse_port(value, &sandbox->connect);
  if (name == kBindOption) return parse_port(value, &sandbox->bind);
  if (name == kNetworkOption) return parse_network(value, sandbox);
  if (name == kFilesOption) {
    sandbox->files = value == kFilesAll ? FileRule::all : FileRule::writes;
    return value == kFilesAll || value == kFilesWrites;
  }
  if (name != kSandboxOption) return false;
  sandbox->is_wanted = true;
  sandbox->is_required = value == kSandboxRequired;
  return sandbox->is_required || value == kSandboxWished;
}

// The path of execvp without PATH (glibc, confstr(3)).
constexpr const char* kDefaultPath = "/bin:/usr/bin";

}  // namespace

bool parse_options(int argc, char** argv, Options* options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    char* const value = argv[i + 1];
    if (name == kCommandFollows) {
      options->command = argv + i + 1;
      return true;
    }
    if (name == kDirectoryOption) {
      options->directory = value;
    } else if (name == kIdentityOption) {
      if (!parse_identity(value, &options->identity.emplace())) return false;
    } else if (name == kCgroupOption) {
      options->cgroup = value;
    } else if (name == kLingerOption) {
      if (!parse_number(value, &options->linger_ms)) return false;
    } else if (!parse_limit(name, value, options) &&
               !parse_sandbox(name, value, &options->sandbox)) {
      return false;
    }
  }
  return false;
}

ProgramPath::ProgramPath(const char* command) {
  if (std::strchr(command, '/') != nullptr) {
    found_ = command;
    return;
  }
  const char* rest = std::getenv("PATH");
  if (rest == nullptr) rest = kDefaultPath;
  while (found_ == nullptr) {
    const auto size = static_cast<int>(std::strcspn(rest, ":"));
    const char* const separator = size == 0 ? "" : "/";
    std::snprintf(path_.data(), path_.size(), "%.*s%s%s", size, rest, separator, command);
    if (::access(path_.data(), X_OK) == 0) found_ = path_.data();
    if (rest[size] == '\0') break;
    rest += size + 1;
  }
}

namespace {

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void CommandStart::run() {
  const char* step = prepare();
  if (step == nullptr) {
    ::execvp(options_.command[0], options_.command);
    step = "exec";
  }
  report(step, errno, StartReport::Kind::failed);
  ::_exit(kNotStarted);
}

// The step that failed, errno says why; null when all is done.
const char* CommandStart::prepare() {
  if (::setpgid(0, 0) != 0) return "setpgid";
  if (!apply_limits()) return "setrlimit";
  // The kernel or a seccomp filter may refuse this; the command still runs, and is reported
  // as unconfined.
  if (const int error = drop_capabilities(); error != 0) {
    report("capabilities", error, StartReport::Kind::unconfined);
  }
  if (!change_user()) return "user";
  // After the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";
  if (::getppid() != guard_) ::_exit(kNotStarted);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  if (options_.directory != nullptr && ::chdir(options_.directory) != 0) return "chdir";
  reset_signals();
  return enter_sandbox();
}

// Without a sandbox too: a Landlock domain keeps children apart.
const char* CommandStart::enter_sandbox() {
  const Sandbox& sandbox = options_.sandbox;
  const KernelFeatures kernel = kernel_features();
  const char* const missing =
      sandbox.is_wanted ? missing_feature(sandbox.files, sandbox.network, kernel) : nullptr;
  if (missing != nullptr) {
    errno = ENOSYS;
    if (sandbox.is_required) return describe("sandbox: this kernel has ", missing);
    report(missing, ENOSYS, StartReport::Kind::unsandboxed);
  }
  const LandlockPlan plan = landlock_plan(kernel.landlock_abi, sandbox.files, sandbox.network);
  if (plan.makes_domain()) {
    const ProgramPath program(options_.command[0]);
    LandlockFailure failure;
    if (!enter_landlock_domain(plan, sandbox, options_.directory != nullptr, program.get(),
                               &failure)) {
      errno = failure.error;
      if (failure.is_of_path || sandbox.is_required) {
        return describe("sandbox: ", failure.what.data());
      }
      report(failure.what.data(), failure.error,
             sandbox.is_wanted ? StartReport::Kind::unsandboxed : StartReport::Kind::unconfined);
    }
  }
  if (!sandbox.is_wanted || !kernel.filters_syscalls) return nullptr;
  const int error = enter_syscall_filter(sandbox);
  errno = error;
  return error == 0 ? nullptr : "sandbox: seccomp";
}

// A step's text; keeps errno.
const char* CommandStart::describe(const char* before, const char* text) {
  std::snprintf(failure_.data(), failure_.size(), "%s%s", before, text);
  return failure_.data();
}

bool CommandStart::apply_limits() const {
  for (size_t i = 0; i < kLimitOptions.size(); ++i) {
    if (!options_.limits[i]) continue;
    const rlimit limit{*options_.limits[i], *options_.limits[i]};
    if (::setrlimit(kLimitOptions[i].resource, &limit) != 0) return false;
  }
  return true;
}

bool CommandStart::change_user() const {
  if (!options_.identity) return true;
  const Identity& identity = *options_.identity;
  return ::setgroups(identity.group_count, identity.groups.data()) == 0 &&
         ::setgid(identity.group) == 0 && ::setuid(identity.user) == 0;
}

void CommandStart::report(const char* step, int error, StartReport::Kind kind) const {
  StartReport report;
  report.error = error;
  report.kind = kind;
  std::strncpy(report.step.data(), step, report.step.size() - 1);
  [[maybe_unused]] const ssize_t sent = ::write(report_, &report, sizeof(report));
}

}  // namespace stdgate::guard
