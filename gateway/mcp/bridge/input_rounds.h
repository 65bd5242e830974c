// InputRounds: calls of legacy sessions that a modern child answers with questions (input_required,
// MCP 2026-07-28, basic/patterns/mrtr).
//
//   client          gateway                                    child
//   tools/call   ─▶ tools/call, what this client can be asked ─▶
//                ◀─ elicitation/create, …                     ◀─ input_required, requestState
//   its answers  ─▶ tools/call, inputResponses, requestState  ─▶
//                ◀───────────────────────────────────────────── the result
//
// Between the answer and the next request the chain keeps the call (Chain::keep), and no child has
// it. The state that a child has given goes back to that child, unless config.pool.sticky is off. A
// call without a state goes to any child. Owner: the bridge. Limits: kMaxRounds rounds of a call,
// kMaxQuestions in one round, Session::kMaxAsks of a session; the input timeout for each round; for
// all calls that are here at a time, the limits of a pool's queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/session_router.h"
#include "gateway/base/time.h"
#include "gateway/call/trace_filter.h"
#include "gateway/mcp/bridge/modern_calls.h"
#include "gateway/mcp/mcp_input.h"
#include "gateway/pool/pool.h"

namespace stdgate::mcp {

class InputRounds {
 public:
  static constexpr uint8_t kMaxRounds = 10;
  static constexpr size_t kMaxQuestions = 32;

  // `input_timeout` may change later.
  InputRounds(const pool::PoolServices& services, pool::Pool& pool,
              backend::SessionRouter& sessions, const ModernCalls& modern,
              const Duration& input_timeout, call::TraceFilter& traces);

  // A call of a session is about to be sent: keeps the call's text, if its client could be asked.
  void note(const rpc::Envelope& request, std::string_view method, call::Call& call);
  // A call with a kept text has ended. If its client is being asked, the questions are withdrawn.
  void note_end(const call::Call& call, Outcome outcome);
  // A child has answered. False: the answer is for the client.
  bool take_answer(call::CallPtr& call, const rpc::Envelope& answer);
  // The client has not answered in time.
  void expire(call::CallPtr call);
  // Whether the call's client has been asked.
  [[nodiscard]] bool has_asked_for(const call::Call& call) const {
    return asked_.find(call.slots) != nullptr;
  }
  // See pool::Bridge.
  void on_round_answer(uint64_t number, std::string_view key, const rpc::Envelope* answer);
  [[nodiscard]] TimePoint needed_until(uint64_t child) const;
  // Ends all rounds, and takes their calls back.
  std::vector<call::CallPtr> take_all();
  // Stops asking clients.
  void drain();
  [[nodiscard]] size_t size() const { return rounds_.size(); }

 private:
  struct Round {
    const call::Call& call;  // the chain keeps it
    std::string state;       // raw JSON; empty: the child has given none
    uint64_t child = 0;  // number of the child that gets the state back; 0: any child may continue
    std::string answers{};  // members of inputResponses
    size_t open = 0;        // questions without an answer
    TimePoint expires{};
    Share held{};  // of these texts

    void charge() { held.set(state.capacity() + answers.capacity()); }
    [[nodiscard]] size_t bytes() const { return state.size() + answers.size(); }
  };
  using Rounds = std::map<uint64_t, Round>;
  // State of a call whose client has been asked.
  struct Asked {
    uint64_t round = 0;  // whose answers the call waits for; 0: none
    uint8_t times = 0;   // of asking
  };

  [[nodiscard]] TimePoint now() const { return services_.core.clock.now(); }
  [[nodiscard]] bool has_room(size_t bytes) const;
  // Asks the client all questions. Returns why not; null: it is asked.
  const char* ask_all(uint64_t number, const call::Call& call, const InputDemands& demands);
  void go_on(call::CallPtr call, const Round& round);
  // Removes the round, whose call goes on, or ends.
  Round take_out(Rounds::iterator round, ParkedEnd how);
  void fail(call::CallPtr call, std::string_view why);
  // Ends the round, and withdraws its questions.
  void forget(Rounds::iterator round, ParkedEnd how);
  // Ends the round, and takes its call back.
  call::CallPtr end(Rounds::iterator round, ParkedEnd how);
  void withdraw_questions(session::SessionId session, uint64_t number);

  const pool::PoolServices& services_;
  pool::Pool& pool_;
  backend::SessionRouter& sessions_;
  const ModernCalls& modern_;
  call::Chain& chain_;
  const Duration& input_timeout_;
  call::TraceFilter& traces_;
  const call::Slot<Asked> asked_;
  Rounds rounds_;
  size_t rounds_bytes_ = 0;
  size_t kept_ = 0;  // size of kept texts, of calls at children too
  uint64_t begun_ = 0;
};

}  // namespace stdgate::mcp
