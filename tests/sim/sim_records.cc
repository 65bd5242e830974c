#include "tests/sim/sim_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace stdgate::sim {

SimStates::State& SimStates::issue(State state) {
  const std::string text = state.text;
  const auto [place, is_new] = states_.emplace(text, std::move(state));
  EXPECT_TRUE(is_new) << "a state is issued twice: " << text;
  return place->second;
}

SimStates::State* SimStates::find(const std::string& text) {
  const auto found = states_.find(text);
  return found == states_.end() ? nullptr : &found->second;
}

const SimStates::State* SimStates::of_other(SimPrincipal principal) {
  std::vector<const State*> others;
  for (const auto& [text, state] : states_) {
    if (is_open(state) && state.principal != principal) others.push_back(&state);
  }
  return others.empty() ? nullptr : others[world_.pick(0, others.size() - 1)];
}

bool SimStates::is_parked(const std::string& nonce) const {
  return count([&nonce](const State& state) { return state.nonce == nonce; }) > 0;
}

void SimStates::note_death(const std::string& nonce) {
  for (auto& [text, state] : states_) {
    if (is_open(state) && state.nonce == nonce) state.is_lost = true;
  }
}

void SimStates::note_death() {
  for (auto& [text, state] : states_) state.is_lost = state.is_lost || is_open(state);
}

size_t SimStates::lost() const {
  return count([](const State& state) { return state.is_lost; });
}

size_t SimStates::parked() const {
  return count([](const State& state) { return !state.is_lost; });
}

size_t SimStates::parked_of(SimPrincipal principal) const {
  return count(
      [principal](const State& state) { return !state.is_lost && state.principal == principal; });
}

void SimKept::note_given(const std::string& nonce, Answer answer) {
  answer.order = ++order_;
  answers_[nonce] = std::move(answer);
}

void SimKept::note_change(std::string_view notification) {
  constexpr std::string_view kHead = "notifications/";
  constexpr std::string_view kTail = "_changed";
  if (!notification.starts_with(kHead) || !notification.ends_with("/list_changed")) return;
  notification.remove_prefix(kHead.size());
  notification.remove_suffix(kTail.size());
  changed_[std::string(notification)] = ++order_;
}

void SimKept::check_hit(const std::string& nonce, std::string_view method, SimPrincipal principal,
                        uint64_t ttl_ms) const {
  const auto found = answers_.find(nonce);
  ASSERT_NE(found, answers_.end()) << "the answer of another request, which nobody may keep";
  const Answer& answer = found->second;
  EXPECT_EQ(answer.method, method);
  EXPECT_TRUE(answer.is_public || (principal != 0 && principal == answer.principal))
      << "what is private is shown to another one";
  EXPECT_GT(ttl_ms, 0U);
  EXPECT_LE(world_.now() + std::chrono::milliseconds(ttl_ms), answer.until);
  EXPECT_GT(answer.order, exited_) << "kept though a child has ended since";
  const auto changed = changed_.find(method);
  EXPECT_TRUE(changed == changed_.end() || answer.order > changed->second)
      << "kept though its list has changed since";
  world_.tally().note(answer.is_public ? Seen::cache_hit : Seen::cache_hit_private);
}

void SimKept::check_remembered(const std::string& nonce, std::string_view method) const {
  const auto found = answers_.find(nonce);
  if (found != answers_.end()) {
    EXPECT_EQ(found->second.method, method);
  }
}

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
