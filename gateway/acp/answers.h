// Answers: the answers of an agent that its client may not have got yet.
//
// The connection's log has their texts, as far as it reaches. An answer that the log has let go is
// told as an error, so that its call ends. Owner: the connection. Limits: beyond `most` the oldest
// answer that has been told is forgotten; the connection bounds the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::acp {

class Answers {
 public:
  explicit Answers(size_t most) : most_(most) {}

  // `event`: its number in the log.
  void add(uint64_t event, uint32_t stream, std::string_view answer);
  // A client has been told the answer. `may_be_lost`: it may say later that it has not got it.
  void note_told(uint64_t event, bool may_be_lost);
  // The client has what this stream had until then.
  void forget_through(uint32_t stream, uint64_t event);
  // The answer has another number now, and belongs to the connection's stream.
  void move(uint64_t from, uint64_t to);

  // An answer that the log has let go.
  struct Lost {
    uint64_t event;
    std::string text;  // the error in its place
  };
  // The answers of a stream after an event that are not among `kept`.
  [[nodiscard]] std::vector<Lost> lost(uint32_t stream, uint64_t after,
                                       const std::set<uint64_t>& kept) const;

  [[nodiscard]] size_t size() const { return answers_.size(); }
  [[nodiscard]] size_t untold() const { return untold_; }
  // Of memory.
  [[nodiscard]] size_t bytes() const {
    return answers_.size() * sizeof(decltype(answers_)::value_type) + id_bytes_;
  }

 private:
  struct Answer {
    uint32_t stream;
    std::string id;  // raw
    bool is_told = false;
  };
  using Table = std::map<uint64_t, Answer>;

  Table::iterator erase(Table::iterator answer);

  const size_t most_;
  Table answers_;  // by their events
  size_t untold_ = 0;
  size_t id_bytes_ = 0;
};

}  // namespace stdgate::acp
