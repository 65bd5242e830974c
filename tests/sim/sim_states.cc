#include "tests/sim/sim_states.h"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace stdgate::sim
