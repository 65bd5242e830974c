// SimAsks: what one legacy child asks clients, and the answers that it gets: each once, from the
// client whose call it is about, and meant for this child.
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

  // A client that can be asked this has greeted the child.
  void note_greeting(const rpc::Envelope& greeting);
  // Whether the client has declared roots, which are asked for before the first call.
  [[nodiscard]] bool may_ask_for_roots() const { return has_declared("roots"); }

  // `cause`: the request that it is asked for; null: none.
  void ask(const rpc::Envelope* cause, Duration delay, std::string_view method = {});
  // Says `text`, the answer to a call, after all questions of the call have been answered, and not
  // within `work`.
  void say_after(const rpc::Envelope& cause, std::string text, Duration work);
  // Whether anything is to be answered for this call before.
  [[nodiscard]] bool has_open(const rpc::Envelope& cause) const {
    return open_.contains(said_in(cause, "nonce"));
  }
  void check_answer(const rpc::Envelope& answer);

  // Of the calls that it has asked something for, be that answered or taken back.
  [[nodiscard]] std::set<std::string> asked() const;
  // Calls that have to wait for their clients, and for no one else.
  [[nodiscard]] const std::map<std::string, size_t>& open() const { return open_; }
  // Of which client it has been told the roots; raw, empty: of none.
  [[nodiscard]] const std::string& told_roots_of() const { return told_roots_of_; }

 private:
  struct Ask {
    std::string id;
    std::string method;
    std::string by;     // raw; empty: no call is behind it
    std::string nonce;  // the same
    bool is_answered = false;
    bool is_over = false;  // or taken back
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
  std::string declared_ = "{}";  // the capabilities of its client
  std::vector<Ask> asks_;
  std::map<std::string, int> unanswered_;  // by id
  std::map<std::string, size_t> open_;     // asks without an answer, by the nonce of their call
  // Answers of the child, and from when on it may give them, by the same.
  std::map<std::string, std::pair<std::string, TimePoint>> waiting_;
  std::string told_roots_of_;
};

}  // namespace stdgate::sim
