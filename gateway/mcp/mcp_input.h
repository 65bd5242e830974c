// McpInput: sampling, elicitation and roots in both eras of MCP: requests of the server up to
// 2025-11-25, multi round-trip requests from 2026-07-28 on (basic/patterns/mrtr).
//
// A legacy child asks its client while it works on the call. A modern client cannot be asked.
// Instead, its call is answered with questions and a state, and the client sends the request again
// with the answers and that state. Stateless. Texts are raw JSON unless said otherwise.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/protocol.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// The part of a modern client's request that answers questions.
struct InputAnswers {
  bool has_state = false;
  std::string state;         // decoded
  std::string_view answers;  // an object, by the questions' keys; empty: none
  bool is_malformed = false;
};

// A question, under the key of its answer.
struct InputRequest {
  std::string key;
  std::string value;  // an object
};

// A question of a modern child, in its answer to a call.
struct InputDemand {
  std::string key;     // raw JSON, a string
  std::string method;  // raw JSON, a string
  std::string params;  // raw JSON; empty: none
};

// The questions in a modern child's answer. `state` returns with the client's answers.
struct InputDemands {
  std::vector<InputDemand> all;
  std::string state;  // raw JSON, a string; empty: none
  bool is_malformed = false;
};

// Whether a client may be asked a question, and the form in which it gets the question.
struct InputRuling {
  enum class Verdict : uint8_t {
    allowed,
    lacks_capability,  // the client would have to declare it
    unknown,           // no client can be asked this
  };
  Verdict verdict = Verdict::unknown;
  std::string value;       // as InputRequest::value
  std::string capability;  // an object
};

// Whether a result begins as nearly all results of modern servers do. Then it is complete, and asks
// for nothing.
inline bool begins_as_complete(std::string_view result) {
  return result.starts_with(R"({"resultType":"complete")");
}

class McpInput {
 public:
  // Whether a call of this method may be answered with questions.
  [[nodiscard]] bool may_need_input(std::string_view method) const;
  // Whether the request continues a call that was answered with questions.
  [[nodiscard]] bool resumes(const rpc::Envelope& request) const;
  [[nodiscard]] InputAnswers read_answers(const rpc::Envelope& request) const;
  // The params of a greeting for a child that may ask exactly what the client of this request
  // declares.
  [[nodiscard]] std::string greeting_for(const rpc::Envelope& request) const;
  // Whether a child that is greeted so may ask before it gets any call.
  [[nodiscard]] bool may_ask_first(std::string_view greeting) const;
  // Whether the answer to this method tells a child something that belongs to one client for good.
  [[nodiscard]] bool is_private(std::string_view method) const;
  // The part of the request that has to be the same when the request is sent again.
  [[nodiscard]] std::string essence(const rpc::Envelope& request) const;
  // The request without its answers and its state.
  [[nodiscard]] std::string without_answers(const rpc::Envelope& request) const;

  // Whether a child's request may be shown to the client that `greeting` was made for.
  [[nodiscard]] InputRuling judge(const rpc::Envelope& ask, std::string_view method,
                                  std::string_view greeting) const;
  // The questions that an error demands before the call; empty: the error demands none.
  [[nodiscard]] std::vector<InputRuling> demanded(const rpc::Envelope& error,
                                                  std::string_view greeting) const;
  // The member `"result":…` that asks the client.
  [[nodiscard]] std::string input_required(std::span<const InputRequest> requests,
                                           std::string_view state) const;
  // --- Modern children under clients of sessions, see InputRounds
  // Whether the client of this greeting can be asked anything.
  [[nodiscard]] bool is_askable(std::string_view greeting) const;
  // The questions in a modern child's answer; nothing: it is the call's own answer.
  [[nodiscard]] std::optional<InputDemands> demands(const rpc::Envelope& answer) const;
  // The request again, with `answers` (members by their keys) and the state.
  [[nodiscard]] std::string with_answers(const rpc::Envelope& request, std::string_view answers,
                                         std::string_view state) const;

  // Whether an answer of the client lets the call continue.
  [[nodiscard]] bool is_consent(std::string_view answer) const;
  // A request that every child answers at once.
  [[nodiscard]] std::string ping(rpc::WireId id) const;
  [[nodiscard]] call::Absence missing_capability(std::string_view capability) const;
};

inline constexpr McpInput kInput;

}  // namespace stdgate::mcp
