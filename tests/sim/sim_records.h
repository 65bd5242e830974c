// SimRecords: what the children and the clients of a history know of each other, to check the
// messages that reach them. Its parts are the states, the cached answers, the tasks, and the signs
// of life.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/backend.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// A principal of a history, by number; 0: none is known.
using SimPrincipal = uint64_t;

// SimStates: the requestStates that the gateway has issued to modern clients, and who may use each:
// its principal, with the same request, once, in time. States that modern children have given out
// are sealed; for these the principal counts, the time, and that the process runs.
//
// Shared by all modern clients of a history, as some try the states of others.
class SimStates {
 public:
  struct State {
    std::string text;
    int64_t pid = 0;  // of the modern child that has given it; 0: it is the gateway's own
    SimPrincipal principal = 0;
    std::string method;
    std::string members;  // of params, of the request that it was issued for
    std::string nonce;    // the same
    std::string capabilities;
    // The state expires between these times.
    TimePoint ends_first{};
    TimePoint ends_last{};
    bool is_used = false;  // its client has sent it, for the right request
    // Its request has ended without an answer, perhaps before the state was read.
    bool is_in_doubt = false;
    bool is_accepted = false;  // an answer has shown that it was taken
    bool is_lost = false;      // its child has gone
  };

  explicit SimStates(SimWorld& world) : world_(world) {}

  State& issue(State state);
  State* find(const std::string& text);
  // A state of another principal that has not been used yet; null: no such state.
  const State* of_other(SimPrincipal principal);
  // Whether the call with this nonce waits for its client.
  [[nodiscard]] bool is_parked(const std::string& nonce) const;
  // The child of the call with this nonce has gone, so the call has no place among the parked ones.
  void note_death(const std::string& nonce);
  // The children of all calls have gone.
  void note_death();
  // How many calls have such a place, as far as clients know: of all, or of one principal.
  [[nodiscard]] size_t parked() const;
  // How many calls have lost their child, which their clients have not heard yet.
  [[nodiscard]] size_t lost() const;
  [[nodiscard]] size_t parked_of(SimPrincipal principal) const;

 private:
  [[nodiscard]] bool is_open(const State& state) const {
    return !state.is_used && world_.now() < state.ends_first;
  }
  template <class Matches>
  [[nodiscard]] size_t count(Matches matches) const {
    size_t found = 0;
    for (const auto& [text, state] : states_) {
      found += state.pid == 0 && is_open(state) && matches(state) ? 1 : 0;
    }
    return found;
  }

  SimWorld& world_;
  std::map<std::string, State> states_;
};

// SimKept: what modern children have answered that others may be told too, and until when: the
// gateway may give it to no one else, and not for longer.
class SimKept {
 public:
  struct Answer {
    std::string method;
    SimPrincipal principal = 0;
    bool is_public = false;
    TimePoint until{};
    uint64_t order = 0;
  };

  explicit SimKept(SimWorld& world) : world_(world) {}

  // A child has answered the request with this nonce.
  void note_given(const std::string& nonce, Answer answer);
  // Somebody has heard that a list has changed. `notification`: the method.
  void note_change(std::string_view notification);
  // A child that sessions and calls share has ended, and the next one may be another program.
  void note_exit() { exited_ = ++order_; }
  // The answer to `nonce` is given to another request, with `ttl_ms` left.
  void check_hit(const std::string& nonce, std::string_view method, SimPrincipal principal,
                 uint64_t ttl_ms) const;
  // Like check_hit(), while no child runs. Also for answers that must not be cached any more, or
  // that the gateway has asked for.
  void check_remembered(const std::string& nonce, std::string_view method) const;

 private:
  SimWorld& world_;
  std::map<std::string, Answer> answers_;                 // by nonce
  std::map<std::string, uint64_t, std::less<>> changed_;  // by method of the list
  uint64_t exited_ = 0;
  uint64_t order_ = 0;
};

// SimTasks: the tasks that modern children run, and the ids under which clients know them. A client
// that has been told of a task reaches its child, or hears that there is no such task. No other
// client does.
//
// Each child counts its tasks from 1, so an id of one child is an id of the others too. Owner: the
// records of a history.
class SimTasks {
 public:
  static constexpr std::string_view kCapabilities =
      R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";

  // At its child.
  struct Task {
    SimPrincipal principal = 0;  // of the client that has called
    Duration ttl{};
    bool has_ended = false;
    TimePoint ends = TimePoint::min();  // until then it keeps its child; min(): no client knows it
  };
  // As a client knows it.
  struct Known {
    std::string text;
    int64_t pid = 0;
    std::string raw;
    SimPrincipal principal = 0;
  };

  SimTasks(SimWorld& world, Duration input_timeout)
      : world_(world), input_timeout_(input_timeout) {}

  // --- Of children
  // The raw id of one more task.
  std::string begin(int64_t pid, SimPrincipal principal, Duration ttl);
  Task* find(int64_t pid, const std::string& raw);
  // A message about the task reaches the gateway.
  void note_told(int64_t pid, const std::string& raw);
  // Whether clients know tasks of this child that are open.
  [[nodiscard]] bool has_open(int64_t pid) const;

  // --- Of clients
  void note_given(const std::string& text, int64_t pid, const std::string& raw,
                  SimPrincipal principal);
  [[nodiscard]] const Known* find(const std::string& text) const;
  // A task of any client; null: no task.
  const Known* some();

 private:
  SimWorld& world_;
  const Duration input_timeout_;
  std::map<std::pair<int64_t, std::string>, Task> tasks_;
  std::map<std::string, Known> known_;  // by their texts
  std::map<int64_t, uint64_t> begun_;   // how many, by child
};

// SimLife: the signs of life that children have given, to check that no call is given up too early,
// or too late.
//
// Owner: the records of a history.
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
  // A call is sent again.
  void forget(const std::string& nonce) { calls_.erase(nonce); }
  // Facts about a call that extend its time.
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

// SimRecords: the records of one history.
struct SimRecords {
  SimRecords(SimWorld& world, const backend::BackendOptions& options)
      : is_sticky(options.config.pool.sticky),
        is_shared(options.config.isolation == config::Isolation::shared),
        idle_timeout(options.config.pool.idle_timeout),
        states(world),
        tasks(world, options.input_timeout),
        kept(world),
        life(world, options.input_timeout) {}

  // The principal of a caller, see SimOwners::next_caller().
  [[nodiscard]] SimPrincipal principal_of(uint64_t caller) const {
    const auto known = principals.find(caller);
    return known == principals.end() ? 0 : known->second;
  }

  const bool is_sticky;  // see config.pool.sticky
  const bool is_shared;  // clients share the children
  const Duration idle_timeout;
  bool is_draining = false;
  SimStates states;
  SimTasks tasks;
  // Which modern callers are one client: a name by caller. Anonymous callers have a number.
  std::map<uint64_t, std::string> clients;
  SimKept kept;
  SimLife life;
  std::map<uint64_t, SimPrincipal> principals;   // of modern callers
  std::map<std::string, uint64_t> owners;        // of children alone: see SimOwners
  std::set<std::pair<int64_t, uint64_t>> heard;  // answers that modern clients have had, by stamp
};

}  // namespace stdgate::sim
