// CallText: the text of one client's calls and of their answers, built once; a call differs from
// the next by its id alone, ten digits at places that are known.
//
// The payload names client and call too, so an answer that went to another client, or belongs to
// another call, is noticed even where all clients use the same ids (they do).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::bench {

inline constexpr size_t kIdDigits = 10;
using IdText = std::array<char, kIdDigits>;

// Numbers below 10^10, so a JSON number of JavaScript's too.
inline constexpr uint64_t kFirstId = 1'000'000'000;
inline constexpr uint64_t kLastId = 9'999'999'999;
IdText write_id(uint64_t id);

// A text with the id in two places.
struct NumberedText {
  std::string bytes;
  std::array<size_t, 2> places = {};

  void patch(const IdText& id);
  // Whether `text` is this one with `id`.
  [[nodiscard]] bool equals(std::string_view text, const IdText& id) const;
};

// `modern_tool` is one of MCP's modern era, which says of itself in _meta what it is.
enum class CallForm : uint8_t { plain, sleep, tool, modern_tool };

class CallText {
 public:
  static constexpr size_t kLeastPayload = 32;
  static constexpr size_t kMaxPayload = size_t{64} << 20;

  CallText(CallForm form, size_t client, size_t payload_bytes, unsigned sleep_ms);

  [[nodiscard]] const NumberedText& request() const { return request_; }
  // As servers write it that pass on bytes; others may order the members otherwise.
  [[nodiscard]] const NumberedText& answer() const { return answers_[0]; }
  // That one, and what a session gets of a tool of a modern server.
  [[nodiscard]] std::span<const NumberedText> answers() const { return answers_; }
  // Where the value of "result" begins in the answer; it ends one byte before the answer does.
  [[nodiscard]] size_t result_begin() const { return result_begin_; }
  // What the result must have besides the payload.
  [[nodiscard]] std::string_view demanded() const { return demanded_; }
  // The text that the answer must repeat, as a JSON string.
  [[nodiscard]] std::string_view payload_of(std::string_view answer) const {
    return answer.substr(payload_begin_, payload_size_);
  }

 private:
  void add_answer(std::string_view begin, std::string_view payload, size_t id_in_payload,
                  std::string_view end);

  NumberedText request_;
  std::vector<NumberedText> answers_;
  std::string_view demanded_;  // a constant
  size_t result_begin_ = 0;
  size_t payload_begin_ = 0;  // in the answer
  size_t payload_size_ = 0;   // quotes included
};

}  // namespace stdgate::bench
