// The whole core in simulated time: many seeds, each a different history of clients and children.
// check_always() and check_at_end() hold what must be true in every history.
//
// A failing seed is repeated with STDGATE_SIM_SEED=<seed>. STDGATE_SIM_SEEDS sets how many seeds
// are run, from 1 on or from that seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gateway/mcp/mcp_revision.h"
#include "tests/sim/sim_child.h"
#include "tests/sim/sim_clients.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_modern_clients.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/sim_protocols.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_sessions.h"
#include "tests/sim/sim_world.h"
#include "tests/support/fake_seal.h"

namespace stdgate::sim {
namespace {

class Simulation {
 public:
  explicit Simulation(uint64_t seed)
      : world_(seed),
        options_(draw_options(world_)),
        launcher_(world_, temper_, records_),
        starts_per_second_(seed % 3 == 0 ? 0.5 : 0) {
    if (world_.chance(0.3)) make_calm();
    temper_.protocol = options_.config.protocol;
    temper_.framing = options_.config.framing;
    if (is_mcp()) temper_.eras = draw_eras(world_);
    temper_.serves_one = options_.config.serves_one;
    temper_.eras.keeps_answers_apart = can_serve_alone(options_.config);
    auto backend = std::make_unique<backend::Backend>(
        BackendId{0}, options_, make_dialect(options_.config), callers_, services_);
    backend_ = backend.get();
    backends_.add(std::move(backend));
    backends_.start();
  }

  // The events of sessions, children and calls that the observer was told.
  [[nodiscard]] const SimLedger& ledger() const { return ledger_; }
  // The counts of all other events.
  SimTally& tally() { return world_.tally(); }

  void run() {
    for (size_t i = 0; i < kClients; ++i) clients_.push_back(make_client());
    for (size_t i = 0; i < kSessions; ++i) {
      sessions_.push_back(std::make_unique<SimSession>(world_, callers_, owners_, *backend_,
                                                       options_.config, starts_, records_,
                                                       ClientAddress::unix_user(i % 2)));
    }
    // Modern clients are anonymous, or of one of two principals with two connections each. A pool
    // that serves one principal has clients of that principal only. Anonymous clients have one
    // address, or two, or the second client has none.
    for (size_t i = 0; is_mcp() && i < kModernClients; ++i) {
      const auto user = static_cast<uint32_t>(i == 3 ? world_.pick(0, 2) : i % 2);
      const ClientAddress address = user == 2 ? ClientAddress() : ClientAddress::unix_user(user);
      modern_clients_.push_back(std::make_unique<SimModernClient>(
          world_, callers_, owners_, backends_, *backend_, options_, records_,
          options_.config.serves_one ? 1 : i % 3, address));
    }
    for (int i = 0; i < kActions; ++i) {
      world_.after(world_.pick_duration(Duration{0}, std::chrono::seconds(60)),
                   [this] { let_somebody_act(); });
    }
    const bool ends_in_the_middle = world_.chance(0.2);
    if (ends_in_the_middle) tally().note(Seen::drained_in_the_middle);
    const TimePoint quiet =
        world_.now() + std::chrono::seconds(ends_in_the_middle ? world_.pick(5, 60) : 120);
    const bool ends_when_parked = ends_in_the_middle && world_.chance(0.3);
    while (world_.now() < quiet && world_.step()) {
      check_always();
      if (ends_when_parked && ledger_.parked_calls > 0) break;
    }
    if (!ends_in_the_middle && world_.chance(0.5)) leave_alone();
    shut_down();
    check_at_end();
  }

 private:
  static constexpr size_t kClients = 5;
  static constexpr size_t kSessions = 6;
  static constexpr size_t kModernClients = 6;
  static constexpr int kActions = 300;

  [[nodiscard]] bool is_mcp() const { return options_.config.protocol == config::Protocol::mcp; }

  // Whether sessions have no children of their own, or no longer have them.
  [[nodiscard]] bool shares_children() const {
    return backend_->status().isolation == config::Isolation::shared;
  }

  void make_calm() {
    temper_ = Temper{};
    temper_.fails_to_start = temper_.never_starts = temper_.dies = 0;
    temper_.slowest_answer = std::chrono::milliseconds(50);
  }

  std::unique_ptr<SimClient> make_client() {
    return std::make_unique<SimClient>(world_, callers_, owners_, backends_, *backend_,
                                       options_.config, records_);
  }

  void let_somebody_act() {
    const size_t index = world_.pick(0, kClients + kSessions + modern_clients_.size() - 1);
    if (index >= kClients + kSessions) {
      modern_clients_[index - kClients - kSessions]->act();
    } else if (index >= kClients) {
      sessions_[index - kClients]->act();
    } else if (world_.chance(0.05)) {
      clients_[index]->leave();
      requests_ += clients_[index]->requests();
      clients_[index] = make_client();
    } else {
      clients_[index]->act();
    }
  }

  // All clients leave. Calls that wait for a client end at their time limit, everything else ends
  // at once.
  void leave_alone() {
    tally().note(Seen::left_alone);
    leave_all();
    check_always();
    EXPECT_EQ(callers_.size(), 0U);
    EXPECT_EQ(backend_->status().sessions, 0U);
    const TimePoint patience =
        world_.now() + options_.config.timeout + options_.input_timeout + std::chrono::seconds(1);
    while (backend_->calls() > 0 && world_.now() < patience && world_.step()) check_always();
    EXPECT_EQ(backend_->calls(), 0U) << "calls outlive their clients";
    EXPECT_EQ(callers_.size(), 0U);
  }

  void leave_all() {
    for (const auto& client : clients_) client->leave();
    for (const auto& session : sessions_) session->leave();
    for (const auto& client : modern_clients_) client->leave_for_good();
  }

  void note_verdict() {
    if (owners_.are_exclusive() && shares_children()) tally().note(Seen::shared_modern);
    if (options_.config.revision != config::Revision::automatic || !is_mcp()) return;
    const auto peer_kind = backend_->status().peer_kind;
    if (peer_kind)
      tally().note(*peer_kind == PeerKind::stateless ? Seen::verdict_modern : Seen::verdict_legacy);
  }

  // Some sessions are closed when the drain begins; the others stay open until their children have
  // ended.
  void shut_down() {
    note_verdict();
    records_.is_draining = true;
    backends_.drain();
    backends_are_draining_ = true;
    ledger_.restarts.on_drain();
    for (const auto& session : sessions_) {
      if (world_.chance(0.5)) session->leave();
    }
    const TimePoint patience = world_.now() + options_.config.max_time + std::chrono::seconds(60);
    while (backends_.calls() > 0 && world_.now() < patience && world_.step()) check_always();
    EXPECT_EQ(backends_.calls(), 0U) << "calls outlive every deadline";
    backends_.end_children();
    const TimePoint last = world_.now() + std::chrono::seconds(30);
    while (backends_.has_children() && world_.now() < last && world_.step()) check_always();
    EXPECT_FALSE(backends_.has_children());
    const bool may_be_parked = shares_children() || options_.config.revive;
    int64_t untold = 0;
    for (const auto& session : sessions_) {
      const bool has_begun = !is_mcp() || session->has_heard();
      if (session->is_open() && !session->has_ended() && !may_be_parked && has_begun) ++untold;
    }
    // A session that gave up its place in the queue has never had a child, so it is not told.
    EXPECT_LE(untold, ledger_.sessions_in(SessionState::parked))
        << "a session has lost its child and was not told";
    for (const auto& session : sessions_) {
      EXPECT_EQ(session->open_calls(), 0U) << "a call was never answered";
      session->leave();
      requests_ += session->requests();
    }
  }

  void check_always() {
    backend_->check_invariants();
    world_.accounts().check_invariants();
    const config::BackendConfig& config = options_.config;
    const pool::BackendStatus status = backend_->status();
    // Each session has a queue, and all calls that need a child alone share another queue.
    const size_t queues = 1 + (owners_.are_exclusive() ? status.sessions : 0) + (is_mcp() ? 1 : 0);
    EXPECT_LE(status.queued, config.pool.queue * queues);
    EXPECT_LE(status.queued_bytes, config.pool.queue_bytes * queues);
    EXPECT_LE(status.children.size(), config.pool.max);
    size_t listening = 0;
    size_t leased = 0;
    size_t leaving = 0;  // leased children that drain; their places are free
    for (const pool::ChildStatus& child : status.children) {
      // The limit does not count calls that only listen. Calls that no other child may get have
      // room of their own.
      EXPECT_LE(child.in_flight, 2 * config.pool.max_in_flight + child.listening);
      listening += child.listening;
      leased += child.leased ? 1 : 0;
      leaving += child.leased && child.state == ChildState::draining ? 1 : 0;
    }
    // Sessions with children of their own may have all children while there are no other calls.
    const uint32_t kept = owners_.are_exclusive() ? 0 : std::max(config.pool.min, 1U);
    EXPECT_LE(leased - leaving, owners_.are_exclusive() || is_mcp() ? config.pool.max - kept : 0);
    check_only_process(status);
    if (!is_mcp() || !config.bridges()) {
      EXPECT_LE(leased, status.sessions);
    }
    check_listening(listening, status);
    check_parked(status);
    // A session that waited for a child and needs none any more is parked, whether revived or not.
    EXPECT_LE(status.sessions, 2U * config.pool.sessions);
    EXPECT_LE(status.watches, config.pool.sessions);
    EXPECT_EQ(status.sessions, ledger_.sessions);
    EXPECT_EQ(status.parked_sessions, ledger_.sessions_in(SessionState::parked));
    EXPECT_GE(ledger_.sessions_in(SessionState::live), 0);
    EXPECT_GE(ledger_.sessions_in(SessionState::reviving), 0);
    EXPECT_EQ(launcher_.running(), status.children.size());
    EXPECT_GE(ledger_.started, ledger_.finished);
    ledger_.restarts.check(world_.now(), status);
  }

  // A legacy server that serves one principal keeps its state in one process.
  void check_only_process(const pool::BackendStatus& status) const {
    if (!options_.config.serves_one || status.peer_kind != PeerKind::stateful) return;
    const auto is_alive = [](const pool::ChildStatus& child) {
      return child.state != ChildState::draining &&
             child.facts.protocol_version != mcp::kModernRevision;
    };
    EXPECT_LE(std::ranges::count_if(status.children, is_alive), 1);
  }

  // Each listening call belongs to a client, or is the gateway's own call for a session.
  void check_listening(size_t listening, const pool::BackendStatus& status) const {
    size_t most = status.sessions;
    for (const auto& client : modern_clients_) most += client->listening_calls();
    EXPECT_LE(listening, most);
  }

  void check_parked(const pool::BackendStatus& status) {
    const uint32_t places = options_.config.pool.parked;
    EXPECT_EQ(ledger_.parked_calls, static_cast<int64_t>(status.parked_calls));
    const size_t in_rounds =
        status.parked_calls - std::min(status.parked_calls, records_.states.parked());
    if (rounds_ > 0 && in_rounds > 0 && ledger_.children_exited > exited_) {
      tally().note(Seen::died_in_round);
    }
    rounds_ = in_rounds;
    exited_ = ledger_.children_exited;
    if (backends_are_draining_) return;
    EXPECT_LE(records_.states.parked(), places);
    for (SimPrincipal principal = 0; principal < 3; ++principal) {
      EXPECT_LE(records_.states.parked_of(principal), std::max(1U, places / 2));
    }
  }

  void check_at_end() {
    EXPECT_EQ(launcher_.running(), 0U);
    EXPECT_FALSE(backend_->holds_work()) << "tasks outlive their children";
    EXPECT_EQ(backend_->status().parked_calls, 0U);
    EXPECT_EQ(ledger_.parked_calls, 0);
    EXPECT_EQ(ledger_.cache_hits,
              tally().of(Seen::cache_hit) + tally().of(Seen::cache_hit_private));
    EXPECT_EQ(backend_->status().sessions, 0U);
    EXPECT_EQ(ledger_.sessions, 0U);
    EXPECT_EQ(backend_->status().watches, 0U);
    for (const auto& client : clients_) {
      EXPECT_EQ(client->open_calls(), 0U) << "a call was never answered";
      requests_ += client->requests();
    }
    for (const auto& client : modern_clients_) {
      EXPECT_EQ(client->open_calls(), 0U) << "a call was never answered";
      requests_ += client->requests();
    }
    leave_all();
    backend_->check_invariants();
    EXPECT_EQ(callers_.size(), 0U) << "no sessions and no connections, and still callers";
    EXPECT_EQ(backend_->calls(), 0U);
    EXPECT_EQ(ledger_.started, requests_);
    EXPECT_EQ(ledger_.finished, ledger_.started);
    EXPECT_EQ(world_.accounts().held_for_clients(), 0U) << "something is kept for nobody";
    EXPECT_EQ(ledger_.children_started, ledger_.children_exited);
    for (size_t state = 0; state < static_cast<size_t>(ChildState::dead); ++state) {
      EXPECT_EQ(ledger_.states[state], 0);
    }
  }

  SimWorld world_;
  const backend::BackendOptions options_;
  SimRecords records_{world_, options_};
  test::FakeSeal seal_;
  Temper temper_;
  SilentLog log_;
  SimLedger ledger_{world_, options_.config};
  SimLauncher launcher_;
  session::Callers callers_{1000};
  const double starts_per_second_;  // limit of each client; 0: no limit
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
                               &session_starts_,
                               nullptr,
                               nullptr,
                               nullptr,
                               &seal_,
                               nullptr,
                               nullptr,
                               &world_.accounts()};
  SimOwners owners_{options_.config};
  backend::Upstreams backends_;
  backend::Backend* backend_ = nullptr;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<std::unique_ptr<SimSession>> sessions_;
  std::vector<std::unique_ptr<SimModernClient>> modern_clients_;
  bool backends_are_draining_ = false;
  uint64_t requests_ = 0;
  // State at the last check: calls whose sessions have been asked, and children that had ended.
  size_t rounds_ = 0;
  uint64_t exited_ = 0;
};

TEST(CoreSimulation, EveryCallIsAnsweredOnce) {
  const auto [first, count] = SimSeeds(kSeeds);
  std::array<uint64_t, kParkReasonCount> parked{};
  std::array<uint64_t, kRevivalOutcomeCount> revived{};
  std::array<uint64_t, kReplaceReasonCount> replaced{};
  SimTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("repeat with STDGATE_SIM_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.run();
    if (testing::Test::HasFailure()) return;
    tally.add(simulation.tally());
    for (size_t i = 0; i < replaced.size(); ++i) replaced[i] += simulation.ledger().replaced[i];
    for (size_t i = 0; i < parked.size(); ++i) parked[i] += simulation.ledger().parked[i];
    for (size_t i = 0; i < revived.size(); ++i) revived[i] += simulation.ledger().revived[i];
  }
  if (count < 100) return;
  for (const ReplaceReason reason : {ReplaceReason::age, ReplaceReason::calls}) {
    EXPECT_GT(replaced[static_cast<size_t>(reason)], 0U) << replace_reason_name(reason);
  }
  if (!kHasMcp) return;  // only sessions of MCP outlive their children
  for (const ParkReason reason : {ParkReason::idle, ParkReason::place_needed,
                                  ParkReason::child_ended, ParkReason::replaced}) {
    EXPECT_GT(parked[static_cast<size_t>(reason)], 0U) << park_reason_name(reason);
  }
  for (const RevivalOutcome outcome : {RevivalOutcome::same, RevivalOutcome::failed}) {
    EXPECT_GT(revived[static_cast<size_t>(outcome)], 0U) << revival_outcome_name(outcome);
  }
  if (count < 2000) return;  // some events are rare
  for (size_t i = 0; i < kSeenCount; ++i) {
    const uint64_t times = tally.of(static_cast<Seen>(i));
    EXPECT_GT(times, 0U) << kSeenNames[i] << " has never happened";
    testing::Test::RecordProperty(std::string(kSeenNames[i]), std::to_string(times));
  }
}

}  // namespace
}  // namespace stdgate::sim
