#include "tests/sim/sim_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace stdgate::sim {

std::string SimTasks::begin(int64_t pid, SimPrincipal principal, Duration ttl) {
  std::string raw = "t-" + std::to_string(++begun_[pid]);
  tasks_[{pid, raw}] = {principal, ttl};
  return raw;
}

SimTasks::Task* SimTasks::find(int64_t pid, const std::string& raw) {
  const auto found = tasks_.find({pid, raw});
  return found == tasks_.end() ? nullptr : &found->second;
}

void SimTasks::note_told(int64_t pid, const std::string& raw) {
  Task* const task = find(pid, raw);
  if (task == nullptr || !task->has_ended) return;
  task->ends = std::min(task->ends, world_.now() + input_timeout_);
}

bool SimTasks::has_open(int64_t pid) const {
  return std::ranges::any_of(tasks_, [&](const auto& entry) {
    return entry.first.first == pid && entry.second.ends > world_.now();
  });
}

void SimTasks::note_given(const std::string& text, int64_t pid, const std::string& raw,
                          SimPrincipal principal) {
  Task* const task = find(pid, raw);
  ASSERT_NE(task, nullptr) << "no child has such a task: " << text;
  EXPECT_EQ(task->principal, principal) << "another client's task";
  EXPECT_TRUE(known_.emplace(text, Known{text, pid, raw, principal}).second)
      << "two tasks have one id: " << text;
  task->ends = world_.now() + task->ttl;
}

const SimTasks::Known* SimTasks::find(const std::string& text) const {
  const auto found = known_.find(text);
  return found == known_.end() ? nullptr : &found->second;
}

const SimTasks::Known* SimTasks::some() {
  if (known_.empty()) return nullptr;
  const auto index = static_cast<ptrdiff_t>(world_.pick(0, known_.size() - 1));
  return &std::next(known_.begin(), index)->second;
}

}  // namespace stdgate::sim
