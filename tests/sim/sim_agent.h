// SimAgent: an agent of ACP without a process. SimAgents is the ChildLauncher that makes them.
//
// An agent works on prompts, sends updates, asks for permission in the middle, cancels its
// questions, ends prompts without waiting, and dies. It numbers its updates in a session, and
// checks that each question is answered once, by its client.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/pool/child_link.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// Events for which histories of agents are made. Each has to happen in some history.
enum class AgentEvent : uint8_t {
  asked,
  asked_again,      // the client has come back
  answered,         // a question, by its client
  answered_twice,   // and again
  taken_back,       // a question, by the agent
  expired,          // a question
  cut,              // a client is, from its connection
  came_back,        // to it
  replaced,         // before the former connection was known to be gone
  lost,             // it came back, and its agent had gone
  ended_meanwhile,  // a prompt, while its client was away
  ended_with_open,  // a prompt with an open question
  cancelled,        // a prompt, by its client
  died,             // an agent
  carried,          // a session, by the stream of its connection
  held,             // an agent, as its client takes too little
  stranger,         // somebody else has named a connection
  lingered_out,     // a connection of a client that has left for good
};
inline constexpr std::array<std::string_view, static_cast<size_t>(AgentEvent::lingered_out) + 1>
    kAgentEventNames = {"asked",
                        "asked_again",
                        "answered",
                        "answered_twice",
                        "taken_back",
                        "expired",
                        "cut",
                        "came_back",
                        "replaced",
                        "lost",
                        "ended_meanwhile",
                        "ended_with_open",
                        "cancelled",
                        "died",
                        "carried",
                        "held",
                        "stranger",
                        "lingered_out"};

class AgentTally {
 public:
  void note(AgentEvent what) { ++counts_[static_cast<size_t>(what)]; }
  void add(const AgentTally& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  [[nodiscard]] const auto& counts() const { return counts_; }

 private:
  std::array<uint64_t, kAgentEventNames.size()> counts_{};
};

class SimAgent;

class SimAgents final : public pool::ChildLauncher {
 public:
  SimAgents(SimWorld& world, AgentTally& tally, double dies)
      : world_(world), tally_(tally), dies_(dies) {}
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;
  // Processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;

 private:
  SimWorld& world_;
  AgentTally& tally_;
  const double dies_;  // per message
  int next_pid_ = 100;
  std::vector<std::weak_ptr<SimAgent>> agents_;
};

}  // namespace stdgate::sim
