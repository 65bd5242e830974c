// ClaimLedger: which children have given out what clients may come back for, and until when: so
// that no idle child is ended meanwhile.
//
// A state is open until it has come back or has expired; a task until its time to live is over, or
// for as long as a state after its client has been told how it has ended. What is not in here, as
// there was no room, is served all the same while its child runs. Owner: the ClaimFilter. Limits:
// of each child kMaxStates states and config.pool.tasks tasks; those that end first go.
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

  // `patience` may change while it lives.
  ClaimLedger(size_t max_tasks, const Duration& patience)
      : max_tasks_(max_tasks), patience_(patience) {}

  // The child has given out one more state. Its number, from 1.
  uint64_t add_state(uint64_t child, TimePoint now);
  // When a state that is given out now expires.
  [[nodiscard]] TimePoint expiry(TimePoint now) const { return now + patience_; }
  void close_state(uint64_t child, uint64_t number);
  // It has not come back after all.
  void open_state(uint64_t child, uint64_t number, TimePoint expires) {
    children_[child].states.emplace(number, expires);
  }
  // What a client has been told of a task; no time to live: it has no end.
  void note_task(uint64_t child, std::string_view id, std::optional<Duration> ttl, bool has_ended,
                 TimePoint now);
  void lose(uint64_t child) { children_.erase(child); }

  // Until when the child is needed; min(): it is not.
  [[nodiscard]] TimePoint needed_until(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t states(uint64_t child, TimePoint now) const;
  [[nodiscard]] size_t tasks(uint64_t child, TimePoint now) const;

 private:
  struct Task {
    TimePoint begun{};
    TimePoint ends{};
  };
  struct Child {
    std::map<uint64_t, TimePoint> states;  // when each ends, by number
    std::map<std::string, Task, std::less<>> tasks;
  };

  static void drop_ended(Child& child, TimePoint now);

  const size_t max_tasks_;
  const Duration& patience_;
  std::map<uint64_t, Child> children_;
  uint64_t given_ = 0;
};

}  // namespace stdgate::mcp
