// SimTally: counts the events that the simulation is made for, over one history or many. If one of
// the events never happens over all seeds, the test fails, because that event is not tested then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stdgate::sim {

enum class Seen : uint8_t {
  verdict_modern,  // the gateway found out that its children are modern
  verdict_legacy,  // the gateway found out that its children are legacy
  fell_back,       // a child was asked for its era, and then greeted as legacy in the same process
  exited_when_asked,      // a child ended because it was asked for its era
  discovered_late,        // a child said that it is modern after it was greeted as legacy
  shared_modern,          // sessions with children of their own share modern children from then on
  parked,                 // calls of modern clients at legacy children
  resumed,                // parked calls, by their clients
  expired,                // parked calls, after timeouts.input
  stopped,                // parked calls, by a drain
  given_up,               // parked calls, by their clients
  parked_again,           // a retry was answered with questions, new ones or the same
  answered_after_resume,  // a retry was answered with the child's result
  partial_answers,        // a retry lacked some answers
  state_forged,           // a retry was refused: its state was never issued
  state_used,             // a retry was refused: its state had been used
  state_late,             // a retry was refused: its state had expired
  state_of_other,         // a retry was refused: its state belonged to another principal
  state_of_request,       // a retry was refused: its state belonged to another request
  state_lost,             // a retry was refused: the process of its state has ended
  died_while_parked,      // a child with parked calls ended
  died_in_round,          // a child ended while a session's client was asked for a modern child
  lacked_capability,      // error -32021
  wrong_era,              // error -32022
  asked_in_turn,          // the client of a call at its principal's only process was asked
  rounds,                 // a modern child asked the client of a session
  round_repeated,         // a call was sent to a modern child again, with the answers
  round_failed,           // the gateway ended a call whose client had been asked for a modern child
  modern_input,           // a modern child asked a modern client
  modern_resumed,         // a modern client answered a modern child
  task_given,             // a modern client was given a task
  task_reached,           // a modern client reached its task
  task_lost,              // refused: the process of the task has ended
  task_of_other,          // refused: the task belongs to another principal
  task_told,              // a listening modern client was told of its task
  task_child_died,        // a child with open tasks ended
  listened,               // subscriptions/listen was acknowledged
  heard_change,           // a listening modern client was told of a change
  heard_update,
  listening_ended,
  session_heard_change,  // a session at modern children was told of a change
  session_heard_update,
  logged,  // a log message reached the modern request that wanted it
  remembered,
  cache_hit,
  cache_hit_private,
  own_lane,            // a child served a modern call alone
  left_open,           // a modern client left with calls under way
  cancelled,           // a modern client cancelled a call
  taken_over,          // a session was adopted that began in another process
  left_alone,          // all clients left the backend before it was drained
  kept_for_life,       // a sign of life extended the time of a call
  too_long,            // a call gave signs of life up to its max_time
  question_withdrawn,  // a question of a legacy child was not answered in time
  drained_in_the_middle,
};
inline constexpr size_t kSeenCount = static_cast<size_t>(Seen::drained_in_the_middle) + 1;
inline constexpr std::array<std::string_view, kSeenCount> kSeenNames = {
    "verdict_modern",
    "verdict_legacy",
    "fell_back",
    "exited_when_asked",
    "discovered_late",
    "shared_modern",
    "parked",
    "resumed",
    "expired",
    "stopped",
    "given_up",
    "parked_again",
    "answered_after_resume",
    "partial_answers",
    "state_forged",
    "state_used",
    "state_late",
    "state_of_other",
    "state_of_request",
    "state_lost",
    "died_while_parked",
    "died_in_round",
    "lacked_capability",
    "wrong_era",
    "asked_in_turn",
    "rounds",
    "round_repeated",
    "round_failed",
    "modern_input",
    "modern_resumed",
    "task_given",
    "task_reached",
    "task_lost",
    "task_of_other",
    "task_told",
    "task_child_died",
    "listened",
    "heard_change",
    "heard_update",
    "listening_ended",
    "session_heard_change",
    "session_heard_update",
    "logged",
    "remembered",
    "cache_hit",
    "cache_hit_private",
    "own_lane",
    "left_open",
    "cancelled",
    "taken_over",
    "left_alone",
    "kept_for_life",
    "too_long",
    "question_withdrawn",
    "drained_in_the_middle",
};

class SimTally {
 public:
  void note(Seen what) { ++counts_[static_cast<size_t>(what)]; }
  void add(const SimTally& other) {
    for (size_t i = 0; i < kSeenCount; ++i) counts_[i] += other.counts_[i];
  }
  [[nodiscard]] uint64_t of(Seen what) const { return counts_[static_cast<size_t>(what)]; }

 private:
  std::array<uint64_t, kSeenCount> counts_{};
};

}  // namespace stdgate::sim
