// ChildLink: one child process as the core sees it: bytes to its stdin, bytes from its stdout, and
// its end. transports/stdio implements it over real processes, the simulation without any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"

namespace stdgate::pool {

// How log lines name a child and its client. Owner: the child, and its link, which writes log lines
// of its own.
struct ChildName {
  uint64_t number = 0;  // the ordinal within the backend, from 1; 0: it has none
  int pid = 0;          // 0: not yet
  // The session that has the child alone, or had it last. Empty: none.
  SessionName session{};
  std::string client{};     // its address
  std::string principal{};  // its name
  // The method of a request of the gateway that the child may complain about now, a constant;
  // empty: none.
  std::string_view probe{};
};

// How far children are kept apart from each other and from the gateway, for log and
// reports.
struct Confinement {
  int landlock_abi = 0;         // 0: the kernel has no Landlock
  bool children_apart = false;  // children cannot trace each other or read each other's memory
  bool signals_scoped = false;  // children can signal only their own descendants
  bool abstract_sockets_scoped = false;  // children cannot connect to abstract sockets of others
  bool syscalls_filtered = false;        // in a sandbox
  bool gateway_dumpable = true;          // processes of its user may trace it and read its memory
  bool runs_as_root = false;
  std::vector<std::string_view> capabilities;  // that the gateway has and its children keep
  uint64_t unconfined_starts = 0;  // starts of children that the kernel refused to confine
};

// Which parts of a backend's sandbox this machine can hold, for reports. Made by the launcher.
struct SandboxStatus {
  bool used = false;
  bool required = false;
  // Parts out of "system_calls", "files" and "network" that the configuration asks for.
  std::vector<std::string_view> holds;
  std::vector<std::string_view> lacks;
  std::string_view missing;  // the first missing feature of the kernel, for people; empty: none
  uint64_t incomplete_starts = 0;  // starts of children without the whole sandbox
};

// How a child is started.
struct LaunchSpec {
  std::string backend;               // for logs
  std::vector<std::string> command;  // argv; command[0] is searched in the child's PATH
  std::map<std::string, std::string> environment;  // all of it, nothing else is inherited
  std::string working_directory;                   // empty: the gateway's
  std::string user;                                // empty: the gateway's
  config::ResourceLimits limits;
  config::SandboxConfig sandbox;
  Duration linger{0};           // how long its descendants may outlive the command
  Payer payer{};                // pays for what waits to be written
  bool watches_memory = false;  // the memory of the process is measured every second
};

// Makes the LaunchSpec of a backend's children from its configuration.
// `environment`: the gateway's own; only the variables in env_inherit are taken from it. Files of
// env_file override it, and env overrides both. `own_binary` replaces a first word that is exactly
// "stdgate", so that the built-in servers work without an installation.
LaunchSpec make_launch_spec(const config::BackendConfig& config,
                            const std::map<std::string, std::string>& environment,
                            const std::string& own_binary);

// How a child's process has ended, or why it has not begun.
struct ExitStatus {
  enum class Kind : uint8_t { not_started, exited, signaled };
  Kind kind = Kind::exited;
  int value = 0;         // exit code or signal number; errno for not_started
  std::string reason;    // not_started: what failed ("exec: No such file or directory")
  Duration lingered{0};  // how much of LaunchSpec::linger was used after the end of the command
};

// Why a LaunchSpec could not be launched, for people.
struct LaunchProblem {
  std::string_view code;  // for scripts: "not-found"
  std::string what;       // what is wrong
  std::string advice{};   // what to do; may be empty

  [[nodiscard]] std::string text() const { return advice.empty() ? what : what + "; " + advice; }
};

// Called by the link from the outermost level of the loop, never from within a call on the link.
// The receiver must destroy neither itself nor the link inside these calls.
class ChildEvents {
 public:
  virtual ~ChildEvents() = default;
  virtual void on_started(int pid) = 0;               // the command is running
  virtual void on_output(std::span<char> bytes) = 0;  // stdout; may be changed in place
  virtual void on_output_end() = 0;                   // end of stdout; the process may live on
  virtual void on_writable() = 0;                     // unsent_bytes() has fallen to the low mark
  // With LaunchSpec::watches_memory: resident bytes of the process and its descendants.
  virtual void on_memory(uint64_t /*bytes*/) {}
  virtual void on_exit(const ExitStatus& status) = 0;  // last event, exactly once: the process and
                                                       // its descendants are gone
};

class ChildLink {
 public:
  // With this many unsent bytes or more, the core gives the child no more calls. on_writable()
  // comes when half of them is left.
  static constexpr size_t kHighWatermark = 1 << 20;

  // Destroying a link ends what is left of the process at once; no event follows.
  virtual ~ChildLink() = default;

  // Queues the concatenation of `parts` for stdin, to be written at the end of the loop's turn.
  // Silently dropped when stdin is closed; on_exit() will tell.
  virtual void write(std::span<const std::string_view> parts) = 0;
  [[nodiscard]] virtual size_t unsent_bytes() const = 0;

  // Starts or stops reading; a link begins with reading. While it is stopped, no on_output() comes,
  // and the process blocks when its pipe is full. on_exit() then waits until the output of an ended
  // process has been read.
  virtual void set_reading(bool reading) = 0;

  // How the link's log lines are to name the process from now on.
  virtual void set_name(const ChildName& /*name*/) {}
  // The last lines on stderr, oldest first, for a log line about the end of the process.
  [[nodiscard]] virtual std::vector<std::string> last_words() const { return {}; }

  // Asks the process to go: closes stdin, sends SIGTERM to its group after `grace`, and SIGKILL to
  // the process and its descendants after `grace` again. May be called again with a shorter grace.
  virtual void end(Duration grace) = 0;
};

// ChildLauncher: starts children. Implemented by transports/stdio, and by doubles of tests.
class ChildLauncher {
 public:
  virtual ~ChildLauncher() = default;
  // Never fails: errors are reported by on_exit(). `events` outlives the link.
  virtual std::unique_ptr<ChildLink> launch(const LaunchSpec& spec, ChildEvents& events) = 0;
  // Whether `spec` could be launched: the program can be found and executed, and its user and its
  // working directory exist. An error says what is wrong.
  [[nodiscard]] virtual tl::expected<void, LaunchProblem> look_for(
      const LaunchSpec& /*spec*/) const {
    return {};
  }
  // Which parts of the sandbox of `spec` this machine can hold.
  [[nodiscard]] virtual SandboxStatus sandbox_status(const LaunchSpec& /*spec*/) const {
    return {};
  }
};

}  // namespace stdgate::pool
