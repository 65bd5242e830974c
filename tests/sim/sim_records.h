// SimRecords: what the children and the clients of a history know of each other. The messages that
// reach them are checked against the records. The parts are the states, the cached answers, the
// tasks, and the signs of life.
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

// A principal of a history, by number; 0: an anonymous client.
using SimPrincipal = uint64_t;

// SimStates: the requestStates that the gateway has issued to modern clients, and who may use each.
// A state is valid for its principal, for the same request, once, and until its time ends. States
// of modern children are sealed: they are valid for their principal, until their time ends, and as
// long as their process runs.
//
// All modern clients of a history share the states, because some clients try the states of others.
class SimStates {
 public:
  struct State {
    std::string text;
    int64_t pid = 0;  // of the modern child that made the state; 0: the gateway made it
    SimPrincipal principal = 0;
    std::string method;
    std::string members;  // of the params of the request that it was issued for
    std::string nonce;    // of that request
    std::string capabilities;
    // The state expires between these times.
    TimePoint ends_first{};
    TimePoint ends_last{};
    bool is_used = false;  // its client has sent it, with the right request
    // The request that used the state has ended without an answer, perhaps before the state was
    // read.
    bool is_in_doubt = false;
    bool is_accepted = false;  // an answer has shown that the gateway accepted it
    bool is_lost = false;      // its child has ended
  };

  explicit SimStates(SimWorld& world) : world_(world) {}

  State& issue(State state);
  State* find(const std::string& text);
  // A state of another principal that has not been used yet; null if no such state exists.
  const State* of_other(SimPrincipal principal);
  // Whether the call with this nonce waits for its client.
  [[nodiscard]] bool is_parked(const std::string& nonce) const;
  // Notes that the child of the call with this nonce has ended, so the call is no longer parked.
  void note_death(const std::string& nonce);
  // Notes that the children of all calls have ended.
  void note_death();
  // The number of parked calls, as far as clients know: of all, or of one principal.
  [[nodiscard]] size_t parked() const;
  // The number of calls whose child has ended and whose clients do not know it yet.
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

// SimKept: the answers of modern children that may be cached. The gateway may give such an answer
// only to the clients that the child allows, and not longer than the child allows.
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

  // Notes that a child has answered the request with this nonce.
  void note_given(const std::string& nonce, Answer answer);
  // Notes that a client was told that a list has changed. `notification`: the method.
  void note_change(std::string_view notification);
  // Notes the end of a child that sessions and calls share. The next child may be another program.
  void note_exit() { exited_ = ++order_; }
  // Checks that the answer to `nonce` may be given to another request, with `ttl_ms` left.
  void check_hit(const std::string& nonce, std::string_view method, SimPrincipal principal,
                 uint64_t ttl_ms) const;
  // Like check_hit(), while no child runs. Expired answers are allowed then, and answers to the
  // gateway's own requests.
  void check_remembered(const std::string& nonce, std::string_view method) const;

 private:
  SimWorld& world_;
  std::map<std::string, Answer> answers_;                 // by nonce
  std::map<std::string, uint64_t, std::less<>> changed_;  // by method of the notification
  uint64_t exited_ = 0;
  uint64_t order_ = 0;
};

// SimTasks: the tasks that modern children run, and the ids by which clients know them. A client
// that has been told of a task reaches the child of the task, or is told that the task does not
// exist. No other client reaches it.
//
// Each child numbers its tasks from 1, so an id of one child is also an id of the others. Owner:
// the records of a history.
class SimTasks {
 public:
  static constexpr std::string_view kCapabilities =
      R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";

  // A task as its child knows it.
  struct Task {
    SimPrincipal principal = 0;  // of the client that made the call
    Duration ttl{};
    bool has_ended = false;
    TimePoint ends = TimePoint::min();  // the child stays until then; min(): no client knows it
  };
  // A task as a client knows it.
  struct Known {
    std::string text;
    int64_t pid = 0;
    std::string raw;
    SimPrincipal principal = 0;
  };

  SimTasks(SimWorld& world, Duration input_timeout)
      : world_(world), input_timeout_(input_timeout) {}

  // --- For children
  // Begins another task; returns its raw id.
  std::string begin(int64_t pid, SimPrincipal principal, Duration ttl);
  Task* find(int64_t pid, const std::string& raw);
  // Notes that a message about the task reaches the gateway.
  void note_told(int64_t pid, const std::string& raw);
  // Whether this child has open tasks that clients know.
  [[nodiscard]] bool has_open(int64_t pid) const;

  // --- For clients
  void note_given(const std::string& text, int64_t pid, const std::string& raw,
                  SimPrincipal principal);
  [[nodiscard]] const Known* find(const std::string& text) const;
  // A task of any client; null if there is no task.
  const Known* some();

 private:
  SimWorld& world_;
  const Duration input_timeout_;
  std::map<std::pair<int64_t, std::string>, Task> tasks_;
  std::map<std::string, Known> known_;  // by text
  std::map<int64_t, uint64_t> begun_;   // number of tasks, by child
};

// SimLife: the signs of life that children have given. The records check that no call is given up
// too early or too late.
//
// Owner: the records of a history.
class SimLife {
 public:
  SimLife(SimWorld& world, Duration input_timeout) : world_(world), input_timeout_(input_timeout) {}

  // --- For children, which report at the time when the gateway sees the event
  // A request with this nonce has been written to the child.
  void note_written(const std::string& nonce, int64_t pid) {
    if (!nonce.empty()) calls_[nonce] = {pid, world_.now(), {}};
  }
  // The nonces of the requests that were written to this child last, and to no other child since.
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
  // Ids repeat. If several requests have this id, the others may have ended too, so the check
  // allows more than necessary.
  void note_ask_over(int64_t pid, const std::string& id) {
    std::vector<Ask>& asks = asked_[pid];
    const auto last =
        std::find_if(asks.rbegin(), asks.rend(), [&](const Ask& ask) { return ask.id == id; });
    if (last != asks.rend()) asks.erase(std::next(last).base());
  }
  // The time that a client has for the answer to a question.
  [[nodiscard]] Duration input_timeout() const { return input_timeout_; }

  // --- For calls
  struct Times {
    TimePoint arrived{};
    Duration timeout{};  // time without a sign of life
  };
  // Forgets a call that is sent again.
  void forget(const std::string& nonce) { calls_.erase(nonce); }
  // Facts about a call that extend its time.
  struct Terms {
    bool reports = false;  // its client receives progress
    bool alone = false;    // its child serves its client alone
    bool asked = false;    // its child asks that client
  };
  // Checks a call that is given up now, before its max_time.
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
    TimePoint progress{};  // of the last progress
  };

  struct Ask {
    std::string id;
    TimePoint told{};
  };

  SimWorld& world_;
  const Duration input_timeout_;
  std::map<std::string, Call> calls_;          // by nonce
  std::map<int64_t, TimePoint> said_;          // time of the last output, by child
  std::map<int64_t, std::vector<Ask>> asked_;  // open questions, by child
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
  // The names of the clients, by modern caller. Callers with one name are one client. An anonymous
  // caller has a number instead.
  std::map<uint64_t, std::string> clients;
  SimKept kept;
  SimLife life;
  std::map<uint64_t, SimPrincipal> principals;   // of modern callers
  std::map<std::string, uint64_t> owners;        // of children that serve one client alone
  std::set<std::pair<int64_t, uint64_t>> heard;  // stamps of answers to modern clients
};

}  // namespace stdgate::sim
