// SimMember: an MCP server of one era in memory, as a member of a virtual server. SimMembers is the
// ChildLauncher that makes SimMembers.
//
// A member lists tools and resources, which change. A member answers late, twice or never, asks its
// client, writes nonsense, and dies at any time. A tool answers with the nonce of its call. A
// member lives until its link is destroyed or its exit has been reported.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/pool/child_link.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// Probabilities are per message unless said otherwise.
struct MemberTemper {
  double fails_to_start = 0.05;  // per child
  double never_starts = 0.01;    // per child
  double dies = 0.01;
  double ignores = 0.03;
  double answers_twice = 0.02;
  double refuses = 0.05;
  double talks_nonsense = 0.02;
  double changes = 0.1;  // changes a list
  double asks = 0.2;     // asks its client, while it works on a call
  double speaks = 0.2;   // writes a log message, while it works on a call
  double lies = 0.1;     // lies in a list
  double takes_long = 0.05;
  Duration slowest_answer = std::chrono::milliseconds(500);
  Duration longest_work = std::chrono::seconds(40);
};

class SimMembers final : public pool::ChildLauncher {
 public:
  SimMembers(SimWorld& world, const MemberTemper& temper) : world_(world), temper_(temper) {}
  // The backend's name selects the era: modern if it begins with "fresh".
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;

  // The number of processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;
  [[nodiscard]] size_t started() const { return children_.size(); }

 private:
  class Child;

  SimWorld& world_;
  const MemberTemper temper_;
  int next_pid_ = 100;
  std::vector<std::weak_ptr<Child>> children_;
};

}  // namespace stdgate::sim
