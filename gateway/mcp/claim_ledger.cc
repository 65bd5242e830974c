#include "gateway/mcp/claim_ledger.h"

#include <algorithm>

namespace stdgate::mcp {

void ClaimLedger::drop_ended(Child& child, TimePoint now) {
  std::erase_if(child.states, [now](const auto& state) { return state.second <= now; });
  std::erase_if(child.tasks, [now](const auto& entry) { return entry.second.ends <= now; });
}

uint64_t ClaimLedger::add_state(uint64_t child, TimePoint now) {
  Child& giver = children_[child];
  if (giver.states.size() >= kMaxStates) drop_ended(giver, now);
  if (giver.states.size() >= kMaxStates) {
    giver.states.erase(
        std::ranges::min_element(giver.states, {}, [](const auto& state) { return state.second; }));
  }
  giver.states.emplace(++given_, expiry(now));
  return given_;
}

void ClaimLedger::close_state(uint64_t child, uint64_t number) {
  const auto giver = children_.find(child);
  if (giver != children_.end()) giver->second.states.erase(number);
}

void ClaimLedger::note_task(uint64_t child, std::string_view id, std::optional<Duration> ttl,
                            bool has_ended, TimePoint now) {
  auto& tasks = children_[child].tasks;
  auto task = tasks.find(id);
  if (task == tasks.end()) {
    if (tasks.size() >= max_tasks_) drop_ended(children_[child], now);
    if (tasks.size() >= max_tasks_) {
      tasks.erase(
          std::ranges::min_element(tasks, {}, [](const auto& entry) { return entry.second.ends; }));
    }
    task = tasks.emplace(std::string(id), Task{now, TimePoint::max()}).first;
  }
  Task& known = task->second;
  const bool has_end = ttl && *ttl < TimePoint::max() - known.begun;
  const TimePoint end = has_end ? known.begun + *ttl : TimePoint::max();
  // The end of a task may be told many times; only the first time counts.
  const TimePoint told = has_ended ? std::min(known.ends, expiry(now)) : TimePoint::max();
  known.ends = std::min(end, told);
}

TimePoint ClaimLedger::needed_until(uint64_t child, TimePoint now) const {
  TimePoint until = TimePoint::min();
  const auto giver = children_.find(child);
  if (giver == children_.end()) return until;
  const auto& [states, tasks] = giver->second;
  for (const auto& [number, end] : states) until = std::max(until, end);
  for (const auto& [id, task] : tasks) until = std::max(until, task.ends);
  return until <= now ? TimePoint::min() : until;
}

size_t ClaimLedger::states(uint64_t child, TimePoint now) const {
  const auto giver = children_.find(child);
  if (giver == children_.end()) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      giver->second.states, [now](const auto& state) { return state.second > now; }));
}

size_t ClaimLedger::tasks(uint64_t child, TimePoint now) const {
  const auto giver = children_.find(child);
  if (giver == children_.end()) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      giver->second.tasks, [now](const auto& task) { return task.second.ends > now; }));
}

}  // namespace stdgate::mcp
