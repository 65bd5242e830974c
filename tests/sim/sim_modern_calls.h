// SimModernCalls: the requests of one modern client, and the messages that the client has to
// receive for them. These are its own answers, questions that the client can be asked, and states
// that are valid for one retry of the same call.
//
// A task is what a user wants: one request, and the retries that its questions need. Owner: a
// SimModernClient.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/backend.h"
#include "gateway/session/log_verbosity.h"
#include "gateway/session/sinks.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

struct SimTask {
  std::string method;
  std::string members;       // members of params that stay the same in a retry
  std::string nonce;         // raw
  std::string of_meta;       // members of _meta that name the caller, if params do not
  std::string capabilities;  // an object
  std::string task;          // the id of the task that the request is about; empty: no task
};

// SimNeeded: the state and the questions of a call that waits for its client.
struct SimNeeded {
  struct Question {
    std::string key;  // raw
    std::string ask;  // members of the answer that name the question
  };
  SimTask task;
  std::string state;
  std::vector<Question> questions;
};

class SimModernCalls {
 public:
  // The state and the answers in a retry.
  struct Retry {
    std::string state;    // empty: none
    std::string answers;  // members of inputResponses
  };
  struct Request {
    session::Tag tag = 0;
    std::string text;
    std::optional<Duration> timeout{};
  };

  SimModernCalls(SimWorld& world, SimOwners& owners, const backend::BackendOptions& options,
                 backend::Backend& backend, SimRecords& records, SimPrincipal principal,
                 std::string client);

  SimTask new_task();
  Request make(const SimTask& task, const Retry& retry);
  // The answer to a question; some answers decline.
  std::string answer_to(const SimNeeded::Question& question) const;

  // Checks a reply. Returns the questions for the client, if the reply has any.
  std::optional<SimNeeded> check_reply(session::Tag tag, const session::Reply& reply);
  void check_event(session::Tag tag, std::string_view notification);
  void check_cancelled(session::Tag tag);

  // The open calls will not be answered any more.
  void forget_all();
  [[nodiscard]] std::optional<std::string> some_id() const;
  [[nodiscard]] size_t open() const { return open_.size(); }
  [[nodiscard]] size_t listening() const;  // upper limit of the listening calls at children
  [[nodiscard]] uint64_t requests() const { return requests_; }

 private:
  // Whether the gateway may accept the state of a retry.
  enum class Claim : uint8_t { none, good, doubtful, forged, used, late, of_other, of_request };
  struct Call {
    SimTask task;
    std::string id;
    std::string token;
    std::optional<session::Severity> level;
    SimLife::Times times;
    Claim claim = Claim::none;
    SimStates::State* state = nullptr;  // the state in the request; null: not an issued state
    TimePoint state_ends{};             // when the state ends, as known when the request was sent
    bool had_child = false;  // the child of the request's task took calls when the request was sent
    bool listens = false;
    bool has_begun = false;
    bool is_twice = false;  // the same request was sent again while this call was under way
  };

  Claim claim_of(const SimTask& task, const std::string& state);
  [[nodiscard]] bool is_alone_refused(const Call& call) const;
  void check_time(const Call& call, const session::Reply& reply, std::string_view text) const;
  void check_fault(const Call& call, const session::Reply& reply) const;
  void check_error(const Call& call, std::string_view error);
  void check_complete(const Call& call, std::string_view result);
  // A request about a task, or a stream that names tasks.
  std::optional<SimTask> task_about_one();
  void check_task_given(const Call& call, std::string_view result);
  void check_task_reached(const Call& call, std::string_view result) const;
  void check_task_refused(const Call& call);
  void check_child(const Call& call, std::string_view result);
  std::optional<SimNeeded> check_needed(const Call& call, std::string_view result);
  void note_state(const Call& call, const SimNeeded& needed);
  void note_given(const Call& call, const SimNeeded& needed, std::string_view result);
  // Whether the process that issued the state takes calls.
  [[nodiscard]] bool is_served(const SimStates::State& state) const { return is_served(state.pid); }
  [[nodiscard]] bool is_served(int64_t pid) const;
  void check_accepted(const Call& call) const;
  static void note_unanswered(const Call& call);
  void check_stream(Call& call, std::string_view method, std::string_view params);

  SimWorld& world_;
  SimOwners& owners_;
  const config::BackendConfig& config_;
  const Duration input_timeout_;
  backend::Backend& backend_;
  SimRecords& records_;
  const SimPrincipal principal_;
  const std::string client_;  // see SimRecords::clients
  const uint64_t caller_;
  std::map<session::Tag, Call> open_;
  session::Tag next_tag_ = 1;
  uint64_t requests_ = 0;
};

}  // namespace stdgate::sim
