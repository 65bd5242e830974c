// SimChild: a child process without a process. It reads its stdin in pieces, answers late, out of
// order, twice or never, asks and takes back what it asked, talks nonsense in between, and dies
// when it likes. It stamps what it writes, see SimCalls, and checks the answers that it gets.
//
// SimLauncher is the ChildLauncher that makes them. A SimChild lives until its link is destroyed or
// its exit has been told; events that are still under way then find nobody (weak pointers).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/pool/child_link.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/framer.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// Probabilities are per message unless said otherwise.
struct Temper {
  double fails_to_start = 0.05;  // per child
  double never_starts = 0.01;    // per child
  double dies = 0.02;
  double ignores = 0.03;  // never answers
  double answers_twice = 0.02;
  double invents_answer = 0.02;
  double talks_nonsense = 0.03;
  double sends_notification = 0.05;
  double asks_the_client = 0.06;
  double cancels_its_ask = 0.2;  // per request of its own
  double sends_progress = 0.3;   // for calls with a token
  double talks = 0.2;            // while it works on a call, whether that is wanted or not
  double takes_long = 0.05;      // for an answer
  double breaks_answer = 0.01;
  double oversizes_answer = 0.01;
  double closes_stdout = 0.002;
  Duration slowest_answer = std::chrono::seconds(3);
  Duration longest_work = std::chrono::seconds(40);
  // What it speaks.
  config::Protocol protocol = config::Protocol::jsonrpc;
  rpc::Framing framing = rpc::Framing::newline;
};

class SimChild;

class SimLauncher final : public pool::ChildLauncher {
 public:
  SimLauncher(SimWorld& world, const Temper& temper) : world_(world), temper_(temper) {}
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;

  // Processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;

 private:
  SimWorld& world_;
  const Temper& temper_;
  int next_pid_ = 100;
  std::vector<std::weak_ptr<SimChild>> children_;
};

}  // namespace stdgate::sim
