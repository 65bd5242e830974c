#include "transports/stdio/guard/command_start.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "transports/stdio/guard/capabilities.h"
#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"
#include "transports/stdio/guard/syscall_filter.h"

namespace stdgate::guard {

namespace {

// The path of execvp without PATH (glibc, confstr(3)).
constexpr const char* kDefaultPath = "/bin:/usr/bin";

}  // namespace

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
