#include "transports/stdio/guard/command_start.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "transports/stdio/guard/capabilities.h"
#include "transports/stdio/guard/exit_codes.h"
#include "transports/stdio/guard/landlock.h"

namespace stdgate::guard {

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
  report(step, errno, false);
  ::_exit(kNotStarted);
}

// The step that failed, errno says why; null when all is done.
const char* CommandStart::prepare() {
  if (::setpgid(0, 0) != 0) return "setpgid";
  if (!apply_limits()) return "setrlimit";
  // The kernel or a seccomp filter may refuse this; the command still runs, and is reported
  // as unconfined.
  if (const int error = drop_capabilities(); error != 0) report("capabilities", error, true);
  if (!change_user()) return "user";
  // After the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl";
  if (::getppid() != guard_) ::_exit(kNotStarted);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  if (options_.directory != nullptr && ::chdir(options_.directory) != 0) return "chdir";
  reset_signals();
  if (const LandlockPlan plan = landlock_plan(landlock_abi()); plan.makes_domain()) {
    if (const int error = enter_landlock_domain(plan); error != 0) report("landlock", error, true);
  }
  return nullptr;
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

void CommandStart::report(const char* step, int error, bool runs_all_the_same) const {
  StartReport report;
  report.error = error;
  report.runs_all_the_same = runs_all_the_same;
  std::strncpy(report.step.data(), step, report.step.size() - 1);
  [[maybe_unused]] const ssize_t sent = ::write(report_, &report, sizeof(report));
}

}  // namespace stdgate::guard
