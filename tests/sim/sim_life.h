// SimLife: the signs of life that children have given, to check that no call is given up too early,
// or too late.
//
// Owner: the records of a history.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimLife {
 public:
  SimLife(SimWorld& world, Duration input_timeout) : world_(world), input_timeout_(input_timeout) {}

  // --- Of children, which tell it when the gateway hears it
  // A request with this nonce has been written to the child.
  void note_written(const std::string& nonce, int64_t pid) {
    if (!nonce.empty()) calls_[nonce] = {pid, world_.now(), {}};
  }
  // The nonces of the requests that have been written to this child, and to no other since.
  [[nodiscard]] std::set<std::string> calls_of(int64_t pid) const {
    std::set<std::string> nonces;
    for (const auto& [nonce, call] : calls_) {
      if (call.pid == pid) nonces.insert(nonce);
    }
    return nonces;
  }
  void note_said(int64_t pid) { said_[pid] = world_.now(); }
  void note_progress(const std::string& nonce) {
    const auto call = calls_.find(nonce);
    if (call != calls_.end()) call->second.progress = world_.now();
  }
  void note_asked(int64_t pid, const std::string& id) { asked_[pid].push_back({id, world_.now()}); }
  // Ids collide: of several with this one the others may be over, and are asked less of.
  void note_ask_over(int64_t pid, const std::string& id) {
    std::vector<Ask>& asks = asked_[pid];
    const auto last =
        std::find_if(asks.rbegin(), asks.rend(), [&](const Ask& ask) { return ask.id == id; });
    if (last != asks.rend()) asks.erase(std::next(last).base());
  }
  // How long a client has for what it is asked.
  [[nodiscard]] Duration input_timeout() const { return input_timeout_; }

  // --- Of calls
  struct Times {
    TimePoint arrived{};
    Duration timeout{};  // without a sign of life
  };
  // A call is sent once more.
  void forget(const std::string& nonce) { calls_.erase(nonce); }
  // What a call may rely on.
  struct Terms {
    bool reports = false;  // it is told of progress
    bool alone = false;    // its child serves its client alone
    bool asked = false;    // and asks that client what it wants to know
  };
  // A call is given up now, before its max_time.
  void check_given_up(const std::string& nonce, const Times& times, const Terms& terms) {
    const TimePoint now = world_.now();
    EXPECT_GE(now, times.arrived + times.timeout) << "a call is given up before its time";
    const auto call = calls_.find(nonce);
    if (call == calls_.end()) return;
    const auto& [pid, written, progress] = call->second;
    if (now > times.arrived + times.timeout) world_.tally().note(Seen::kept_for_life);
    if (terms.reports) {
      EXPECT_GE(now, progress + times.timeout) << "a call is given up that reports";
    }
    if (terms.alone && said_[pid] > written) {
      EXPECT_GE(now, said_[pid] + times.timeout) << "a call is given up whose child speaks";
    }
    if (!terms.asked) return;
    for (const Ask& ask : asked_[pid]) {
      EXPECT_GE(now, ask.told + input_timeout_) << "a call is given up while its client thinks";
    }
  }

 private:
  struct Call {
    int64_t pid = 0;
    TimePoint written{};
    TimePoint progress{};  // the last
  };

  struct Ask {
    std::string id;
    TimePoint told{};
  };

  SimWorld& world_;
  const Duration input_timeout_;
  std::map<std::string, Call> calls_;          // by nonce
  std::map<int64_t, TimePoint> said_;          // by child
  std::map<int64_t, std::vector<Ask>> asked_;  // the same: what is open
};

}  // namespace stdgate::sim
