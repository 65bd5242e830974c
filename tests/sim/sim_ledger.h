// SimLedger: counts what the observer is told over a history, and checks that the counts balance.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "gateway/observer.h"
#include "tests/sim/sim_restarts.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimLedger final : public Observer {
 public:
  SimLedger(SimWorld& world, const config::BackendConfig& backend)
      : restarts(backend), world_(world) {}

  void on_call_started(BackendId) override {
    world_.set_remembered(false);
    ++started;
  }
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
  void on_child_replaced(BackendId, ReplaceReason reason) override {
    ++replaced[static_cast<size_t>(reason)];
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
  void on_call_parked(BackendId) override {
    ++parked_calls;
    world_.tally().note(Seen::parked);
  }
  void on_parked_call_ended(BackendId, ParkedEnd end) override {
    --parked_calls;
    switch (end) {
      case ParkedEnd::resumed:
        return world_.tally().note(Seen::resumed);
      case ParkedEnd::expired:
        return world_.tally().note(Seen::expired);
      case ParkedEnd::stopped:
        return world_.tally().note(Seen::stopped);
      case ParkedEnd::given_up:
        return world_.tally().note(Seen::given_up);
      case ParkedEnd::failed:
        return;  // the child itself notes its death: Seen::died_while_parked
    }
  }
  void on_cache_hit(BackendId) override { ++cache_hits; }
  void on_remembered(BackendId) override {
    world_.set_remembered(true);
    world_.tally().note(Seen::remembered);
  }
  int64_t& sessions_in(SessionState state) { return by_state[static_cast<size_t>(state)]; }

  uint64_t started = 0;
  uint64_t finished = 0;
  uint64_t children_started = 0;
  uint64_t children_exited = 0;
  uint64_t sessions = 0;
  int64_t parked_calls = 0;  // open now
  uint64_t cache_hits = 0;
  std::array<int64_t, kSessionStateCount> by_state{};
  std::array<uint64_t, kReplaceReasonCount> replaced{};
  std::array<uint64_t, kParkReasonCount> parked{};
  std::array<uint64_t, kRevivalOutcomeCount> revived{};
  std::array<int64_t, kChildStateCount> states{};
  SimRestarts restarts;

 private:
  SimWorld& world_;
};

}  // namespace stdgate::sim
