// GuardProcess: a running guard and the gateway's ends of its descriptors.
//
// Owner: the child's link. When it goes, the libuv handle stays in a block of its own until the
// guard has exited, so no zombie is left; the loop waits for that before it ends.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transports/net/file_descriptor.h"
#include "transports/net/loop.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

// The gateway's ends.
struct GuardEnds {
  net::FileDescriptor input;    // to the command's stdin
  net::FileDescriptor output;   // from its stdout
  net::FileDescriptor errors;   // from its stderr
  net::FileDescriptor control;  // to and from the guard (guard/protocol.h)
};

class GuardProcess {
 public:
  using ExitCallback = std::function<void(int64_t code, int signal)>;

  // Null, with libuv's code in `*error`, when it cannot be started.
  // `arguments` is its argv (guard_arguments.h), `environment` the command's.
  // `table` names it from now on until it has exited.
  static std::unique_ptr<GuardProcess> start(net::Loop& loop, std::shared_ptr<GuardTable> table,
                                             const std::string& binary,
                                             std::vector<std::string> arguments,
                                             const std::map<std::string, std::string>& environment,
                                             ExitCallback on_exit, GuardEnds* ends, int* error);
  ~GuardProcess();
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  [[nodiscard]] int pid() const;

  static constexpr int kPipeSize = 1 << 20;  // asked for; the kernel may give less

 private:
  struct Block;
  GuardProcess(Block* block, ExitCallback on_exit);

  Block* block_;
  ExitCallback on_exit_;
};

}  // namespace stdgate::stdio
