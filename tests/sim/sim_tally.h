// SimTally: which of the events that the simulation is made for have happened, over one history or
// many. The test fails if one of them never happens over all seeds, because it is not tested then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stdgate::sim {

enum class Seen : uint8_t {
  verdict_modern,         // the gateway has found out that children are modern
  verdict_legacy,         // the same, legacy
  fell_back,              // a child was asked, and greeted as a legacy one in the same process
  exited_when_asked,      // a child ended because it was asked
  discovered_late,        // after it was greeted as a legacy child
  shared_modern,          // sessions with children of their own share modern ones from then on
  parked,                 // calls of modern clients at legacy children
  resumed,                // by their clients
  expired,                // timeouts.input has passed
  stopped,                // by a drain
  given_up,               // of sessions, by their clients
  parked_again,           // a retry was answered with other questions, or the same
  answered_after_resume,  // a retry was answered with the child's result
  partial_answers,        // a retry lacked some
  state_forged,           // retries that were refused: nobody has issued their state,
  state_used,             // it had been used,
  state_late,             // it had expired,
  state_of_other,         // it was another principal's,
  state_of_request,       // or another request's
  state_lost,             // its process has gone
  died_while_parked,      // children
  died_in_round,          // the same, while a session's client was asked for a modern child
  lacked_capability,      // -32021
  wrong_era,              // -32022
  asked_in_turn,          // a call at the process of its principal
  rounds,                 // questions of modern children to clients of sessions
  round_repeated,         // a call that came again with the answers
  round_failed,           // a call that the gateway ended in a round
  modern_input,           // modern clients were asked by modern children
  modern_resumed,         // and have answered
  task_given,             // to a modern client
  task_reached,           // by its client
  task_lost,              // refused, as its process has gone
  task_of_other,          // refused, as it is another principal's
  task_told,              // to a modern client that listens
  task_child_died,        // a child with open tasks
  listened,               // subscriptions/listen was acknowledged
  heard_change,           // by a modern client that listens
  heard_update,
  listening_ended,
  session_heard_change,  // a session at modern children
  session_heard_update,
  logged,  // a log message has reached the modern request that wanted it
  remembered,
  cache_hit,
  cache_hit_private,
  own_lane,            // a modern call was served by a child alone
  left_open,           // a modern client has left with calls under way
  cancelled,           // a modern client has cancelled a call
  taken_over,          // sessions that began in another process
  left_alone,          // the backend, by all its clients, before it was drained
  kept_for_life,       // a call was given up later than it would have been without a sign of life
  too_long,            // a call had signs of life up to its max_time
  question_withdrawn,  // what a legacy child has asked was not answered in time
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
