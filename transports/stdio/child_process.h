// ChildProcesses: the ChildLauncher over real processes.
//
// Each command runs under a guard (guard/guard.h), a small process that executes the command and
// passes on its exit status. The guard ends everything that the command started as soon as the
// command or the gateway is gone, kill -9 of the gateway included. stdin and stdout are large
// pipes: they are cheaper for small messages than libuv's socket pairs, nearly as good for large
// ones once enlarged, and a child may reopen /dev/stdin. stderr goes to the log, line by line,
// tagged with backend and pid. Owner: the worker; outlives the links that it makes. The process
// must ignore SIGPIPE.
//
// Events of a link: on_started, on_output..., on_output_end, on_exit. If a command could not be
// started: only on_exit. on_exit comes when stdout has been read to its end, or kMaxDrainTime after
// the process has gone. A child that closes its stdin can serve no calls: it is ended with
// kBrokenInputGrace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/base/log.h"
#include "gateway/pool/child_link.h"
#include "transports/net/loop.h"
#include "transports/stdio/guard_watch.h"
#include "transports/stdio/orphan_reaper.h"
#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

class ChildProcesses final : public pool::ChildLauncher {
 public:
  // `guard_binary`: the program to run as guard (guard_process.h).
  // `orphans`: the one of this process; outlives this.
  // `cgroups`: where the kernel shows them.
  ChildProcesses(net::Loop& loop, Log& log, OrphanReaper& orphans, std::string guard_binary,
                 CgroupPlaces cgroups = {});

  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;
  [[nodiscard]] tl::expected<void, pool::LaunchProblem> look_for(
      const pool::LaunchSpec& spec) const override;

  [[nodiscard]] pool::SandboxStatus sandbox_status(const pool::LaunchSpec& spec) const override;

  // CPU time of all children that `backend` has and had, memory of its present ones. Reads /proc.
  ProcessUsage usage(std::string_view backend) { return ledger_.usage(backend); }

  // Children of `backend` that were started without all of their sandbox.
  [[nodiscard]] uint64_t incomplete_starts(std::string_view backend) const;
  // Properties of all children.
  [[nodiscard]] const pool::Confinement& confinement() const { return confinement_; }

  // Processes that still ran when their command had exited by itself, and were ended.
  [[nodiscard]] uint64_t left_behind() const { return left_behind_; }

  static constexpr Duration kMaxDrainTime = std::chrono::seconds(1);
  static constexpr Duration kBrokenInputGrace = std::chrono::seconds(1);

 private:
  // The identity of a user (guard_process.h). Looked up once, because the loop waits for the user
  // database; failures are not kept.
  tl::expected<std::string, int> identity_of(const std::string& user);

  net::Loop& loop_;
  Log& log_;
  const std::string guard_binary_;
  std::map<std::string, std::string> identities_;  // by the names of users
  GuardWatch guards_;
  UsageLedger ledger_;
  MemoryWatch memory_;
  pool::Confinement confinement_;
  std::map<std::string, uint64_t, std::less<>> incomplete_starts_;  // by backend
  uint64_t left_behind_ = 0;
};

}  // namespace stdgate::stdio
