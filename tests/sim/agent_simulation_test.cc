// Agents and their clients in simulated time, above the whole core. Clients lose their connection
// at any moment, and come back or not. SimEditor and SimAgent say what must hold for each of them.
// At the end all clients have left, and nothing may remain.
//
// A failing seed is repeated with STDGATE_SIM_SEED=<seed>. STDGATE_SIM_SEEDS sets how many seeds
// are run, from 1 on or from that seed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gateway/acp/acp_connections.h"
#include "gateway/acp/acp_dialect.h"
#include "gateway/backend/backend.h"
#include "tests/sim/sim_agent.h"
#include "tests/sim/sim_editor.h"
#include "tests/sim/sim_world.h"
#include "tests/support/fake_seal.h"

namespace stdgate::sim {
namespace {

constexpr uint64_t kSeeds = 1000;

class Questions final : public Observer {
 public:
  void on_question_asked(BackendId) override { ++open; }
  void on_question_ended(BackendId, MethodId, QuestionEnd, Duration) override { --open; }
  int64_t open = 0;
};

backend::BackendOptions draw_options(SimWorld& world) {
  backend::BackendOptions options;
  config::BackendConfig& config = options.config;
  config.name = "agent";
  config.command = {"agent"};
  config.is_default = true;
  config.protocol = config::Protocol::acp;
  config.isolation = config::Isolation::session;
  config.timeout = std::chrono::seconds(world.pick(20, 60));
  config.max_time = config.timeout * world.pick(1, 10);
  options.input_timeout = std::chrono::seconds(world.pick(1, 20));
  constexpr std::array<int, 4> kLingers = {0, 2, 20, 200};
  config.linger = std::chrono::seconds(kLingers[world.pick(0, kLingers.size() - 1)]);
  config.pool.max = static_cast<uint32_t>(world.pick(2, 6));
  config.pool.min = 0;
  config.pool.warm = static_cast<uint32_t>(world.pick(0, 1));
  config.pool.sessions = static_cast<uint32_t>(world.pick(1, 6));
  config.pool.start_timeout = std::chrono::seconds(1);
  config.pool.idle_timeout = std::chrono::seconds(10);
  config.pool.max_in_flight = static_cast<uint32_t>(world.pick(2, 64));
  config.pool.queue = static_cast<uint32_t>(world.pick(2, 64));
  options.limits.message = 64 << 10;
  return options;
}

class AgentSimulation {
 public:
  explicit AgentSimulation(uint64_t seed)
      : world_(seed),
        options_(draw_options(world_)),
        agents_(world_, tally_, world_.chance(0.3) ? 0.0 : 0.01),
        backend_(BackendId{0}, options_, std::make_unique<acp::AcpDialect>(), callers_, services_),
        ids_([this] { return "connection-" + std::to_string(++opened_); }),
        connections_({backend_, callers_, world_.timers(), world_, limits_, world_.storages(),
                      options_.config.linger},
                     ids_),
        editor_services_{world_, tally_, backend_, connections_, seed % 5 == 0} {
    backend_.start();
    auto ada = std::make_shared<policy::Principal>();
    ada->name = "ada";
    for (size_t i = 0; i < 6; ++i) {
      const auto kind = i % 2 == 0 ? SimEditor::Kind::http : SimEditor::Kind::websocket;
      editors_.push_back(
          std::make_unique<SimEditor>(editor_services_, kind, world_.chance(0.4),
                                      i < 3 ? policy::PrincipalRef() : policy::PrincipalRef(ada)));
    }
  }

  void run() {
    for (int i = 0; i < 250; ++i) {
      world_.after(world_.pick_duration(Duration{0}, std::chrono::seconds(60)), [this] {
        SimEditor& editor = *editors_[world_.pick(0, editors_.size() - 1)];
        if (world_.chance(0.1)) {
          // The id belongs to an editor of another principal.
          const size_t mine = static_cast<size_t>(&editor == editors_[0].get() ? 0 : 5);
          editors_[mine]->try_id(editors_[5 - mine]->id());
        }
        editor.act();
      });
    }
    pass(std::chrono::seconds(60));
    const bool ends_in_the_middle = world_.chance(0.2);
    if (!ends_in_the_middle) {
      for (const auto& editor : editors_) editor->settle();
      pass(std::chrono::seconds(20));
      for (const auto& editor : editors_) editor->settle();
      // The time of a question begins when the gateway looks for questions. Twenty such periods are
      // enough for all questions.
      pass(20 * (options_.config.linger + options_.input_timeout) + options_.config.max_time);
      for (const auto& editor : editors_) editor->check_all_answered();
    }
    if (world_.chance(0.3)) {
      backend_.drain();
      connections_.drain();
    }
    for (const auto& editor : editors_) editor->leave();
    pass(options_.config.linger + acp::AcpConnections::kBetweenRequests + std::chrono::seconds(1));
    check_nobody();
    connections_.close_all();
    backend_.drain();
    backend_.end_children(std::chrono::seconds(1));
    pass(std::chrono::seconds(30));
    EXPECT_EQ(agents_.running(), 0U);
  }

  [[nodiscard]] const AgentTally& tally() const { return tally_; }

 private:
  void pass(Duration duration) {
    const TimePoint until = world_.now() + duration;
    bool is_there = false;
    world_.after(duration, [&is_there] { is_there = true; });
    while (!is_there && world_.now() <= until && world_.step() && !testing::Test::HasFailure()) {
      backend_.check_invariants();
      connections_.check_invariants();
      world_.accounts().check_invariants();
    }
  }

  void check_nobody() {
    EXPECT_EQ(connections_.size(), 0U) << "a connection outlives its clients";
    EXPECT_EQ(callers_.size(), 0U);
    EXPECT_EQ(backend_.calls(), 0U);
    EXPECT_EQ(backend_.status().sessions, 0U);
    EXPECT_EQ(questions_.open, 0);
    EXPECT_EQ(world_.accounts().held_for_clients(), 0U) << "something is kept for nobody";
  }

  SimWorld world_;
  AgentTally tally_;
  const backend::BackendOptions options_;
  const config::LimitsConfig limits_{};
  test::FakeSeal seal_;
  SilentLog log_;
  Questions questions_;
  SimAgents agents_;
  session::Callers callers_{1000};
  pool::CoreServices services_{world_,
                               world_.timers(),
                               log_,
                               questions_,
                               agents_,
                               world_.random(),
                               world_.storages(),
                               nullptr,
                               nullptr,
                               nullptr,
                               nullptr,
                               &seal_,
                               nullptr,
                               nullptr,
                               &world_.accounts()};
  backend::Backend backend_;
  int opened_ = 0;
  test::RandomSessionIds ids_;
  std::vector<std::unique_ptr<SimEditor>> editors_;  // connections_ report to them
  acp::AcpConnections connections_;
  EditorServices editor_services_;
};

TEST(AgentSimulation, WhoComesBackFindsTheAgentAndNobodyLeavesAnything) {
  const auto [first, count] = SimSeeds(kSeeds);
  AgentTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with STDGATE_SIM_SEED=" + std::to_string(seed));
    AgentSimulation simulation(seed);
    simulation.run();
    if (testing::Test::HasFailure()) return;
    tally.add(simulation.tally());
  }
  if (count < kSeeds) return;
  for (size_t i = 0; i < kAgentEventNames.size(); ++i) {
    const uint64_t times = tally.counts()[i];
    EXPECT_GT(times, 0U) << kAgentEventNames[i] << " has never happened";
    testing::Test::RecordProperty(std::string(kAgentEventNames[i]), std::to_string(times));
  }
}

}  // namespace
}  // namespace stdgate::sim
