// ChildProcesses: the ChildLauncher over real processes.
//
// Each command runs under a guard (guard.h), a small process of this same binary that executes the
// command, passes on its exit status, and ends everything that the command started as soon as the
// command or the gateway is gone, kill -9 of the gateway included.
// stdin and stdout are large pipes: cheaper for small messages than libuv's socket pairs, nearly as
// good for large ones once enlarged, and a child may reopen /dev/stdin. stderr goes to the log,
// line by line, tagged with backend and pid. Owner: the composition root; outlives the links that
// it makes. The process must ignore SIGPIPE. Events of a link: on_started, on_output...,
// on_output_end, on_exit; of a command that could not be started only on_exit. on_exit comes when
// stdout has been read to its end, or kDrainLimit after the process has gone. A child that closes
// its stdin serves nobody: it is ended with kBrokenInputGrace.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/log.h"
#include "gateway/pool/child_link.h"
#include "transports/net/loop.h"
#include "transports/stdio/orphan_reaper.h"
#include "transports/stdio/usage_ledger.h"

namespace stdgate {

class ChildProcesses final : public ChildLauncher {
 public:
  // `guard_binary`: the program to run as guard, /proc/self/exe in production.
  ChildProcesses(Loop& loop, Log& log, std::string guard_binary);

  std::unique_ptr<ChildLink> launch(const LaunchSpec& spec, ChildEvents& events) override;

  // CPU time of all children that `backend` has and had, memory of those that it has. Reads /proc.
  ProcessUsage usage(std::string_view backend) { return ledger_.usage(backend); }

  static constexpr Duration kDrainLimit = std::chrono::seconds(1);
  static constexpr Duration kBrokenInputGrace = std::chrono::seconds(1);

 private:
  Loop& loop_;
  Log& log_;
  const std::string guard_binary_;
  OrphanReaper orphans_;
  UsageLedger ledger_;
};

}  // namespace stdgate
