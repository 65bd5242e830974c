// ChildLink: one child process as the core sees it: bytes to its stdin, bytes from its stdout, and
// its end. Implemented by transports/stdio over real processes and by the simulation without any.
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
  Duration linger{0};           // in which what the command has started may end by itself after it
  Payer payer{};                // of what waits to be written to it
  bool watches_memory = false;  // it is looked every second how much memory it uses
};

struct ExitStatus {
  enum class Kind : uint8_t { not_started, exited, signaled };
  Kind kind = Kind::exited;
  int value = 0;         // exit code or signal number; errno for not_started
  std::string reason;    // not_started: what failed ("exec: No such file or directory")
  Duration lingered{0};  // of LaunchSpec::linger: from the end of the command on
};

// Why a LaunchSpec could not be launched, for people.
struct LaunchProblem {
  std::string_view code;  // for scripts: "not-found"
  std::string what;       // what is wrong
  std::string advice{};   // what to do; may be empty

  [[nodiscard]] std::string text() const { return advice.empty() ? what : what + "; " + advice; }
};

// Called by the link, always from the outermost level of the loop, never from within a call on the
// link. The receiver must destroy neither itself nor the link inside of these calls.
class ChildEvents {
 public:
  virtual ~ChildEvents() = default;
  virtual void on_started(int pid) = 0;               // the command is running
  virtual void on_output(std::span<char> bytes) = 0;  // stdout; may be changed in place
  virtual void on_output_end() = 0;                   // end of stdout; the process may live on
  virtual void on_writable() = 0;                     // unsent_bytes() has fallen to the low mark
  // LaunchSpec::watches_memory: resident bytes of the process and all that it has started.
  virtual void on_memory(uint64_t /*bytes*/) {}
  virtual void on_exit(const ExitStatus& status) = 0;  // last event, exactly once: the process and
                                                       // all that it started are gone
};

class ChildLink {
 public:
  // From this many unsent bytes on the core gives the child no more calls; on_writable() comes when
  // half of it is left.
  static constexpr size_t kHighWatermark = 1 << 20;

  // Destroying a link ends what is left of the process at once; no event follows.
  virtual ~ChildLink() = default;

  // Queues the concatenation of `parts` for stdin; written at the end of the loop's turn. Silently
  // dropped when stdin is closed: on_exit() tells.
  virtual void write(std::span<const std::string_view> parts) = 0;
  [[nodiscard]] virtual size_t unsent_bytes() const = 0;

  // While not reading, no on_output() comes, and the process waits when its pipe is full; nor does
  // on_exit() as long as something of a process that has ended is unread. Reading is the start.
  virtual void set_reading(bool reading) = 0;

  // How its own log lines are to name the process from now on.
  virtual void set_name(const ChildName& /*name*/) {}
  // The last lines that it has written to stderr, oldest first, for a log line about its end.
  [[nodiscard]] virtual std::vector<std::string> last_words() const { return {}; }

  // Asks the process to go: closes stdin, after `grace` SIGTERM to its group, after `grace` again
  // SIGKILL to everything it started. May be called again with a shorter grace.
  virtual void end(Duration grace) = 0;
};

class ChildLauncher {
 public:
  virtual ~ChildLauncher() = default;
  // Never fails: errors are reported by on_exit(). `events` outlives the link.
  virtual std::unique_ptr<ChildLink> launch(const LaunchSpec& spec, ChildEvents& events) = 0;
  // Whether `spec` could be launched: the program can be found and executed, its user and its
  // working directory exist. Else what is wrong.
  [[nodiscard]] virtual tl::expected<void, LaunchProblem> look_for(
      const LaunchSpec& /*spec*/) const {
    return {};
  }
  // What of the sandbox of `spec` holds here.
  [[nodiscard]] virtual SandboxStatus sandbox_status(const LaunchSpec& /*spec*/) const {
    return {};
  }
};

}  // namespace stdgate::pool
