// ClaimLedger: which children have given out claims that clients may bring back, and until when. A
// child with open claims is not ended for being idle.
//
// A state is open until it has come back or has expired. A task is open until its time to live is
// over, or for as long as a state after its client has been told of its end. A claim that found no
// room here is still served while its child runs. Owner: the ClaimFilter. Limits: for each child
// kMaxStates states and config.pool.tasks tasks; claims that end first go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"

namespace stdgate::mcp {

class ClaimLedger {
 public:
  static constexpr size_t kMaxStates = 1024;

  // `patience` may change during the life of the ledger.
  ClaimLedger(size_t max_tasks, const Duration& patience)
      : max_tasks_(max_tasks), patience_(patience) {}

  // The child has given out one more state. Returns its number, from 1.
  uint64_t add_state(uint64_t child, TimePoint now);
  // The expiry of a state that is given out now.
  [[nodiscard]] TimePoint expiry(TimePoint now) const { return now + patience_; }
  void close_state(uint64_t child, uint64_t number);
  // The state has not come back after all.
  void open_state(uint64_t child, uint64_t number, TimePoint expires) {
    children_[child].states.emplace(number, expires);
  }
  // A client has been told about a task. No `ttl`: the task lives without limit.
  void note_task(uint64_t child, std::string_view id, std::optional<Duration> ttl, bool has_ended,
                 TimePoint now);
  void lose(uint64_t child) { children_.erase(child); }

  // Until when the child is needed; min(): it is not needed.
  [[nodiscard]] TimePoint needed_until(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t states(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t tasks(uint64_t child, TimePoint now) const;

 private:
  struct Task {
    TimePoint begun{};
    TimePoint ends{};
  };
  struct Child {
    std::map<uint64_t, TimePoint> states;  // the end of each state, by its number
    std::map<std::string, Task, std::less<>> tasks;
  };

  static void drop_ended(Child& child, TimePoint now);

  const size_t max_tasks_;
  const Duration& patience_;
  std::map<uint64_t, Child> children_;
  uint64_t given_ = 0;
};

}  // namespace stdgate::mcp
