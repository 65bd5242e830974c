// SimAsks: the requests of one legacy child to clients, and the answers to them. Each request is
// answered once, by the client whose call caused it, and only this child receives the answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "tests/sim/sim_child.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/sim_records.h"

namespace stdgate::sim {

class SimAsks {
 public:
  SimAsks(SimWorld& world, const Temper& temper, SimVoice& voice, SimLife& life)
      : world_(world), temper_(temper), voice_(voice), life_(life) {}

  // A client has greeted the child; its capabilities say what it can be asked.
  void note_greeting(const rpc::Envelope& greeting);
  // Whether the client has declared roots. A child asks for roots before the first call.
  [[nodiscard]] bool may_ask_for_roots() const { return has_declared("roots"); }

  // `cause`: the call that causes the request; null: no call.
  void ask(const rpc::Envelope* cause, Duration delay, std::string_view method = {});
  // Sends `text`, the answer to a call, when all questions of the call have been answered, but not
  // before `work` has passed.
  void say_after(const rpc::Envelope& cause, std::string text, Duration work);
  // Whether questions of this call are still open.
  [[nodiscard]] bool has_open(const rpc::Envelope& cause) const {
    return open_.contains(said_in(cause, "nonce"));
  }
  void check_answer(const rpc::Envelope& answer);

  // The nonces of the calls that have caused requests, answered and cancelled ones included.
  [[nodiscard]] std::set<std::string> asked() const;
  // Calls that wait for their clients only, with the number of open questions.
  [[nodiscard]] const std::map<std::string, size_t>& open() const { return open_; }
  // The client whose roots the child has been told, raw; empty: no client.
  [[nodiscard]] const std::string& told_roots_of() const { return told_roots_of_; }

 private:
  struct Ask {
    std::string id;
    std::string method;
    std::string by;     // raw; empty: no call caused the request
    std::string nonce;  // nonce of that call
    bool is_answered = false;
    bool is_over = false;  // answered, or cancelled
    TimePoint told{};
  };

  [[nodiscard]] bool has_declared(std::string_view capability) const;
  std::string_view pick_method();
  std::string params_of(std::string_view method, size_t number) const;
  Ask* find(std::string_view id, std::optional<std::string_view> number);
  void finish(Ask& ask);

  SimWorld& world_;
  const Temper& temper_;
  SimVoice& voice_;
  SimLife& life_;
  std::string declared_ = "{}";  // the capabilities of the child's client
  std::vector<Ask> asks_;
  std::map<std::string, int> unanswered_;  // by id
  std::map<std::string, size_t> open_;     // requests without an answer, by the nonce of their call
  // Answers that wait for open_, with the earliest time of each, by the same nonce.
  std::map<std::string, std::pair<std::string, TimePoint>> waiting_;
  std::string told_roots_of_;
};

}  // namespace stdgate::sim
