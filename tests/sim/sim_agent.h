// SimAgent: an agent of ACP without a process. SimAgents is the ChildLauncher that makes them.
//
// An agent works on prompts, sends updates, asks for permission in the middle, cancels its
// questions, ends prompts without waiting, and dies. The updates of a session are numbered. The
// agent checks that each question is answered once, by its client.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/pool/child_link.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// Events that histories of agents are made for. Each event has to happen in some history.
enum class AgentEvent : uint8_t {
  asked,
  asked_again,      // a question, after the client has come back
  answered,         // a question, by its client
  answered_twice,   // a question, by its client for the second time
  taken_back,       // a question, by the agent
  expired,          // a question was not answered in time
  cut,              // a client lost its connection
  came_back,        // a client, to its connection
  replaced,         // a connection, before its end was noticed
  lost,             // a client came back after its agent had ended
  ended_meanwhile,  // a prompt, while its client was away
  ended_with_open,  // a prompt with an open question
  cancelled,        // a prompt, by its client
  died,             // an agent
  carried,          // messages of a session, by the stream of its connection
  held,             // output of an agent, because its client reads too slowly
  stranger,         // another client used the id of a connection
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
  // The number of processes that have been launched and have not ended.
  [[nodiscard]] size_t running() const;

 private:
  SimWorld& world_;
  AgentTally& tally_;
  const double dies_;  // probability per message
  int next_pid_ = 100;
  std::vector<std::weak_ptr<SimAgent>> agents_;
};

}  // namespace stdgate::sim
