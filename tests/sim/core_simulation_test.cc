// The whole core in invented time: many seeds, each a different history of clients and children.
// What must hold in every one of them stands in check_always() and check_at_end().
//
// A failing seed is repeated with STDGATE_SIM_SEED=<seed>; STDGATE_SIM_SEEDS sets how many are run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gateway/app/dialects.h"
#include "tests/sim/sim_child.h"
#include "tests/sim/sim_clients.h"
#include "tests/sim/sim_restarts.h"
#include "tests/sim/sim_sessions.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {
namespace {

class SilentLog final : public Log {
 public:
  [[nodiscard]] bool enabled(LogLevel) const override { return false; }
  void write(LogLevel, std::string_view, std::initializer_list<LogField>) override {}
};

class Ledger final : public Observer {
 public:
  explicit Ledger(const config::PoolConfig& pool) : restarts(pool) {}

  void on_call_started(BackendId) override { ++started; }
  void on_call_finished(const CallRecord& record) override {
    ++finished;
    EXPECT_GE(record.total, Duration{0});
    EXPECT_GE(record.queued, Duration{0});
    EXPECT_EQ(record.total, record.queued + record.child);
  }
  void on_child_state(BackendId, ChildState from, ChildState to) override {
    --states[static_cast<size_t>(from)];
    ++states[static_cast<size_t>(to)];
  }
  void on_child_started(BackendId, StartReason) override { ++children_started; }
  void on_child_exited(BackendId, ExitReason reason) override {
    ++children_exited;
    restarts.on_child_exited(reason);
  }
  void on_session_opened(BackendId) override {
    ++sessions;
    ++sessions_in(SessionState::live);
  }
  void on_session_state(BackendId, SessionState from, SessionState to) override {
    --sessions_in(from);
    ++sessions_in(to);
  }
  void on_session_parked(BackendId, ParkReason reason) override {
    ++parked[static_cast<size_t>(reason)];
  }
  void on_session_revived(BackendId, RevivalOutcome outcome, Duration since_request) override {
    EXPECT_GE(since_request, Duration{0});
    ++revived[static_cast<size_t>(outcome)];
  }
  void on_session_closed(BackendId, SessionState state) override {
    --sessions;
    --sessions_in(state);
  }
  int64_t& sessions_in(SessionState state) { return by_state[static_cast<size_t>(state)]; }

  uint64_t started = 0;
  uint64_t finished = 0;
  uint64_t children_started = 0;
  uint64_t children_exited = 0;
  uint64_t sessions = 0;
  std::array<int64_t, kSessionStateCount> by_state{};
  std::array<uint64_t, kParkReasonCount> parked{};
  std::array<uint64_t, kRevivalOutcomeCount> revived{};
  std::array<int64_t, kChildStateCount> states{};
  SimRestarts restarts;
};

// What one seed draws for the backend.
backend::BackendOptions draw_options(SimWorld& world) {
  backend::BackendOptions options;
  config::BackendConfig& config = options.config;
  config.name = "sim";
  config.command = {"sim"};
  config.is_default = true;
  config.timeout = std::chrono::seconds(world.pick(1, 20));
  config.protocol = static_cast<config::Protocol>(world.pick(0, 2));
  const bool is_lsp = config.protocol == config::Protocol::lsp;
  config.isolation =
      is_lsp || world.chance(0.5) ? config::Isolation::session : config::Isolation::shared;
  config.framing =
      world.chance(is_lsp ? 0.8 : 0.2) ? rpc::Framing::content_length : rpc::Framing::newline;
  config::PoolConfig& pool = config.pool;
  pool.max = static_cast<uint32_t>(world.pick(1, 5));
  pool.min = is_lsp ? 0 : static_cast<uint32_t>(world.pick(0, pool.max));
  if (config.isolation == config::Isolation::session) {
    if (!is_lsp) pool.min = std::min(pool.min, pool.max - 1);
    const uint32_t most_warm = pool.max - std::max(config.kept_for_calls(), 1U);
    pool.warm = static_cast<uint32_t>(world.pick(0, most_warm));
  }
  pool.sessions = static_cast<uint32_t>(world.pick(1, 6));
  options.config.cancel_method = "$/cancelRequest";
  pool.max_in_flight = static_cast<uint32_t>(world.pick(1, 8));
  pool.queue = static_cast<uint32_t>(world.pick(0, 30));
  pool.queue_bytes = world.chance(0.2) ? 500 : 1 << 20;
  pool.start_timeout = std::chrono::seconds(1);
  pool.idle_timeout = std::chrono::seconds(world.pick(1, 10));
  pool.breaker_failures = static_cast<uint32_t>(world.pick(1, 5));
  if (world.chance(0.5)) {
    pool.backoff_min = std::chrono::milliseconds(world.pick(1, 1000));
    pool.backoff_max = pool.backoff_min * world.pick(1, 10);
  }
  options.limits.message = 64 << 10;
  config.revive = config.protocol == config::Protocol::mcp && world.chance(0.7);
  return options;
}

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : world_(seed),
        options_(draw_options(world_)),
        launcher_(world_, temper_),
        starts_per_second_(seed % 3 == 0 ? 0.5 : 0) {
    if (world_.chance(0.3)) make_calm();
    temper_.protocol = options_.config.protocol;
    temper_.framing = options_.config.framing;
    auto backend = std::make_unique<backend::Backend>(
        BackendId{0}, options_, app::make_dialect(options_.config, {"0", ""}), callers_, services_);
    backend_ = backend.get();
    backends_.add(std::move(backend));
    backends_.start();
  }

  // What has happened to sessions.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

  void run() {
    for (size_t i = 0; i < kClients; ++i) clients_.push_back(make_client());
    for (size_t i = 0; i < kSessions; ++i) {
      sessions_.push_back(std::make_unique<SimSession>(world_, callers_, owners_, *backend_,
                                                       options_.config, starts_,
                                                       ClientAddress::unix_user(i % 2)));
    }
    for (int i = 0; i < kActions; ++i) {
      world_.after(world_.pick_duration(Duration{0}, std::chrono::seconds(60)),
                   [this] { let_somebody_act(); });
    }
    const TimePoint quiet = world_.now() + std::chrono::seconds(120);
    while (world_.now() < quiet && world_.step()) check_always();
    shut_down();
    check_at_end();
  }

 private:
  static constexpr size_t kClients = 5;
  static constexpr size_t kSessions = 6;
  static constexpr int kActions = 300;

  void make_calm() {
    temper_ = Temper{};
    temper_.fails_to_start = temper_.never_starts = temper_.dies = 0;
    temper_.slowest_answer = std::chrono::milliseconds(50);
  }

  std::unique_ptr<SimClient> make_client() {
    return std::make_unique<SimClient>(world_, callers_, owners_, backends_, *backend_,
                                       options_.config);
  }

  void let_somebody_act() {
    const size_t index = world_.pick(0, kClients + kSessions - 1);
    if (index >= kClients) {
      sessions_[index - kClients]->act();
    } else if (world_.chance(0.05)) {
      clients_[index]->leave();
      requests_ += clients_[index]->requests();
      clients_[index] = make_client();
    } else {
      clients_[index]->act();
    }
  }

  // Some sessions are closed when the drain begins, the others outlive their children.
  void shut_down() {
    backends_.drain();
    ledger_.restarts.on_drain();
    for (const auto& session : sessions_) {
      if (world_.chance(0.5)) session->leave();
    }
    const TimePoint patience = world_.now() + std::chrono::seconds(30);
    while (backends_.calls() > 0 && world_.now() < patience && world_.step()) check_always();
    EXPECT_EQ(backends_.calls(), 0U) << "calls outlive every deadline";
    backends_.end_children();
    const TimePoint last = world_.now() + std::chrono::seconds(30);
    while (backends_.has_children() && world_.now() < last && world_.step()) check_always();
    EXPECT_FALSE(backends_.has_children());
    for (const auto& session : sessions_) {
      EXPECT_TRUE(!session->is_open() || session->has_ended() || !owners_.are_exclusive() ||
                  options_.config.revive)
          << "a session has lost its child and was not told";
      EXPECT_EQ(session->open_calls(), 0U) << "a call was never answered";
      session->leave();
      requests_ += session->requests();
    }
  }

  void check_always() {
    backend_->check_invariants();
    const config::BackendConfig& config = options_.config;
    const pool::BackendStatus status = backend_->status();
    const size_t queues = 1 + (owners_.are_exclusive() ? status.sessions : 0);
    EXPECT_LE(status.queued, config.pool.queue * queues);
    EXPECT_LE(status.queued_bytes, config.pool.queue_bytes * queues);
    EXPECT_LE(status.children.size(), config.pool.max);
    size_t leased = 0;
    for (const pool::ChildStatus& child : status.children) {
      EXPECT_LE(child.in_flight, config.pool.max_in_flight);
      leased += child.leased ? 1 : 0;
    }
    EXPECT_LE(leased, owners_.are_exclusive() ? config.pool.max - config.kept_for_calls() : 0);
    EXPECT_LE(leased, status.sessions);
    EXPECT_LE(status.sessions, (config.revive ? 2U : 1U) * config.pool.sessions);
    EXPECT_EQ(status.sessions, ledger_.sessions);
    EXPECT_EQ(status.parked_sessions, ledger_.sessions_in(SessionState::parked));
    EXPECT_GE(ledger_.sessions_in(SessionState::live), 0);
    EXPECT_GE(ledger_.sessions_in(SessionState::reviving), 0);
    EXPECT_EQ(launcher_.running(), status.children.size());
    EXPECT_GE(ledger_.started, ledger_.finished);
    ledger_.restarts.check(world_.now(), status);
  }

  void check_at_end() {
    EXPECT_EQ(launcher_.running(), 0U);
    EXPECT_EQ(backend_->status().sessions, 0U);
    EXPECT_EQ(ledger_.sessions, 0U);
    for (const auto& client : clients_) {
      EXPECT_EQ(client->open_calls(), 0U) << "a call was never answered";
      requests_ += client->requests();
    }
    EXPECT_EQ(ledger_.started, requests_);
    EXPECT_EQ(ledger_.finished, requests_);
    EXPECT_EQ(ledger_.children_started, ledger_.children_exited);
    for (size_t state = 0; state < static_cast<size_t>(ChildState::dead); ++state) {
      EXPECT_EQ(ledger_.states[state], 0);
    }
  }

  SimWorld world_;
  const backend::BackendOptions options_;
  Temper temper_;
  SilentLog log_;
  Ledger ledger_{options_.config.pool};
  SimLauncher launcher_;
  session::Callers callers_{1000};
  const double starts_per_second_;  // of a client; 0: no limit
  static constexpr double kStartBurst = 2;
  policy::ClientRates session_starts_{starts_per_second_, kStartBurst};
  SimStarts starts_{starts_per_second_, kStartBurst};
  pool::CoreServices services_{world_,
                               world_.timers(),
                               log_,
                               ledger_,
                               launcher_,
                               world_.random(),
                               world_.storages(),
                               &session_starts_};
  SimOwners owners_{options_.config.isolation};
  backend::Upstreams backends_;
  backend::Backend* backend_ = nullptr;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<std::unique_ptr<SimSession>> sessions_;
  uint64_t requests_ = 0;
};

uint64_t number_from_environment(const char* name, uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::stoull(value);
}

TEST(CoreSimulation, EveryCallIsAnsweredOnce) {
  const uint64_t first = number_from_environment("STDGATE_SIM_SEED", 1);
  const uint64_t count = std::getenv("STDGATE_SIM_SEED") != nullptr
                             ? 1
                             : number_from_environment("STDGATE_SIM_SEEDS", 2000);
  std::array<uint64_t, kParkReasonCount> parked{};
  std::array<uint64_t, kRevivalOutcomeCount> revived{};
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with STDGATE_SIM_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.run();
    if (testing::Test::HasFailure()) return;
    for (size_t i = 0; i < parked.size(); ++i) parked[i] += simulation.ledger().parked[i];
    for (size_t i = 0; i < revived.size(); ++i) revived[i] += simulation.ledger().revived[i];
  }
  if (count < 100) return;
  for (const ParkReason reason :
       {ParkReason::idle, ParkReason::place_needed, ParkReason::child_ended}) {
    EXPECT_GT(parked[static_cast<size_t>(reason)], 0U) << park_reason_name(reason);
  }
  for (const RevivalOutcome outcome : {RevivalOutcome::same, RevivalOutcome::failed}) {
    EXPECT_GT(revived[static_cast<size_t>(outcome)], 0U) << revival_outcome_name(outcome);
  }
}

}  // namespace
}  // namespace stdgate::sim
