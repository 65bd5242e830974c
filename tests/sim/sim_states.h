// SimStates: the requestStates that the gateway has issued to modern clients, and who may go on
// with each: its principal, with the same request, once, in time. Those that modern children have
// given out are sealed; of these the principal counts, the time, and that the process runs.
//
// Shared by all modern clients of a history, as some try the states of others.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// 0: nobody is known.
using SimPrincipal = uint64_t;

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
    // It expires between these.
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
  // One that is somebody else's, and not used yet; null: there is none.
  const State* of_other(SimPrincipal principal);
  // Whether the call with this nonce waits for its client.
  [[nodiscard]] bool is_parked(const std::string& nonce) const;
  // The child of that call has gone: it has no place among the parked ones.
  void note_death(const std::string& nonce);
  // The same for all.
  void note_death();
  // How many calls have such a place, as far as clients know: of all, or of one principal.
  [[nodiscard]] size_t parked() const;
  // Those whose child has gone, which their clients have not heard yet.
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

}  // namespace stdgate::sim
