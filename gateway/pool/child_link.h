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
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "gateway/pool/child_name.h"
#include "gateway/pool/sandbox_status.h"

namespace stdgate::pool {

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
