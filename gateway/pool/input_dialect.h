// InputDialect: what a protocol of two eras (see Era) says of input that a server needs for a call.
//
// A legacy child asks its client while it works on the call. A modern client cannot be asked: its
// call is answered with what is to be asked and a state, and it sends the request again with the
// answers and that state. Stateless; part of the dialect. Raw JSON all over.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call/elements.h"
#include "gateway/rpc/correlator.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

// What a request of a modern client says of a former one.
struct InputAnswers {
  bool has_state = false;
  std::string state;         // decoded
  std::string_view answers;  // an object, by keys; empty: none
  bool is_malformed = false;
};

// What is to be asked, under the key by which it will be answered.
struct InputRequest {
  std::string key;
  std::string value;  // an object
};

// What a modern child asks in answer to a call.
struct InputDemand {
  std::string key;     // raw JSON, a string
  std::string method;  // the same
  std::string params;  // raw JSON; empty: none
};

struct InputDemands {
  std::vector<InputDemand> all;
  std::string state;  // raw JSON, a string; empty: none
  bool is_malformed = false;
};

struct InputRuling {
  enum class Verdict : uint8_t {
    allowed,
    lacks_capability,  // which the client would have to declare
    unknown,           // no client can be asked this
  };
  Verdict verdict = Verdict::unknown;
  std::string value;       // as InputRequest's
  std::string capability;  // an object
};

class InputDialect {
 public:
  virtual ~InputDialect() = default;

  // Whether a call of this method may be answered with what is to be asked.
  [[nodiscard]] virtual bool may_need_input(std::string_view method) const = 0;
  [[nodiscard]] virtual InputAnswers read_answers(const rpc::Envelope& request) const = 0;
  // The params of the greeting for a child that may ask what the client of this request declares,
  // and no more.
  [[nodiscard]] virtual std::string greeting_for(const rpc::Envelope& request) const = 0;
  // Whether a child so greeted may ask before it gets any call.
  [[nodiscard]] virtual bool may_ask_first(std::string_view greeting) const = 0;
  // Whether what a child has been told in answer to this is of one client alone, for good.
  [[nodiscard]] virtual bool is_private(std::string_view method) const = 0;
  // What has to be the same when the request is sent again.
  [[nodiscard]] virtual std::string essence(const rpc::Envelope& request) const = 0;
  // The request without what belongs to a former one.
  [[nodiscard]] virtual std::string without_answers(const rpc::Envelope& request) const = 0;

  // Whether a child's request may be shown to the client that `greeting` was made for.
  [[nodiscard]] virtual InputRuling judge(const rpc::Envelope& ask, std::string_view method,
                                          std::string_view greeting) const = 0;
  // What an error says that has to be asked first; empty: it says nothing of the kind.
  [[nodiscard]] virtual std::vector<InputRuling> demanded(const rpc::Envelope& error,
                                                          std::string_view greeting) const = 0;
  // The member `"result":…` that asks.
  [[nodiscard]] virtual std::string input_required(std::span<const InputRequest> requests,
                                                   std::string_view state) const = 0;
  // --- Modern children under clients of sessions, see InputRounds
  // Whether the client that has greeted so can be asked anything.
  [[nodiscard]] virtual bool is_askable(std::string_view greeting) const = 0;
  // Nothing: the answer is the call's.
  [[nodiscard]] virtual std::optional<InputDemands> demands(const rpc::Envelope& answer) const = 0;
  // The request once more, with `answers`, members by their keys, and the state.
  [[nodiscard]] virtual std::string with_answers(const rpc::Envelope& request,
                                                 std::string_view answers,
                                                 std::string_view state) const = 0;

  // Whether an answer of the client lets the call go on.
  [[nodiscard]] virtual bool is_consent(std::string_view answer) const = 0;
  // A request that every child answers at once.
  [[nodiscard]] virtual std::string ping(rpc::WireId id) const = 0;
  [[nodiscard]] virtual call::Absence missing_capability(std::string_view capability) const = 0;
};

}  // namespace stdgate::pool
