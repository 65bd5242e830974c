// CommandStart: the command's process between fork and exec, and what it tells the guard.
//
// Job: own process group, resource limits, capabilities, user, parent-death signal, no_new_privs,
// directory, default signals, a Landlock domain of its own with the sandbox, the system calls that
// it is refused, then the command. Owner: the guard's child. Limits: system calls only.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transports/stdio/guard/protocol.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::guard {

// The user and the groups that the command runs as.
struct Identity {
  uid_t user = 0;
  gid_t group = 0;
  size_t group_count = 0;  // of `groups`
  std::array<gid_t, kMaxGroups> groups{};
};

// Options: the guard's arguments, parsed (protocol.h).
struct Options {
  const char* directory = nullptr;  // null: as it is
  std::optional<Identity> identity;
  std::array<std::optional<uint64_t>, kLimitOptions.size()> limits;  // as kLimitOptions
  Sandbox sandbox;
  const char* cgroup = nullptr;  // the file to write to; null: none is joined
  int64_t linger_ms = 0;
  char** command = nullptr;  // argv of the command, ends with null
};

// False when they are none of ours.
bool parse_options(int argc, char** argv, Options* options);

// ProgramPath: the file that execvp(3) will execute for a command, found without allocating.
class ProgramPath {
 public:
  // Looks at this process's PATH unless `command` has a slash.
  explicit ProgramPath(const char* command);
  ProgramPath(const ProgramPath&) = delete;
  ProgramPath& operator=(const ProgramPath&) = delete;

  // Null: none was found.
  [[nodiscard]] const char* get() const { return found_; }

 private:
  std::array<char, 4096> path_{};
  const char* found_ = nullptr;
};

// Sent through a pipe that closes when the command runs.
struct StartReport {
  enum class Kind : uint8_t {
    failed,       // the command is not started; the others: it is
    unconfined,   // without what keeps children apart
    unsandboxed,  // without all of its sandbox
  };
  int error = 0;
  Kind kind = Kind::failed;
  std::array<char, 180> step{};  // or what is missing
};

class CommandStart {
 public:
  // `report` is the pipe's end for StartReports; `guard` the process that starts this one.
  CommandStart(const Options& options, int report, pid_t guard)
      : options_(options), report_(report), guard_(guard) {}

  // Does not return: becomes the command, or reports why not and exits.
  [[noreturn]] void run();

 private:
  const char* prepare();
  [[nodiscard]] bool apply_limits() const;
  [[nodiscard]] bool change_user() const;
  const char* enter_sandbox();
  const char* describe(const char* before, const char* text);
  void report(const char* step, int error, StartReport::Kind kind) const;

  const Options& options_;
  const int report_;
  const pid_t guard_;
  std::array<char, 180> failure_{};  // a step's text
};

}  // namespace stdgate::guard
