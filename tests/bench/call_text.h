// CallText: the text of one client's calls and of their answers. The text is built once: calls
// differ only by their ids, which have ten digits and known places.
//
// The payload names the client and the call. So an answer to another client or another call is
// noticed, even though all clients use the same ids.
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

// Below 10^10, so that JavaScript can represent the numbers exactly.
inline constexpr uint64_t kFirstId = 1'000'000'000;
inline constexpr uint64_t kLastId = 9'999'999'999;
IdText write_id(uint64_t id);

// A text that contains the id in two places.
struct NumberedText {
  std::string bytes;
  std::array<size_t, 2> places = {};

  void patch(const IdText& id);
  // Whether `text` equals this text with `id`.
  [[nodiscard]] bool equals(std::string_view text, const IdText& id) const;
};

// `modern_tool`: a call of MCP's modern era, which states its version in _meta.
enum class CallForm : uint8_t { plain, sleep, tool, modern_tool };

class CallText {
 public:
  static constexpr size_t kLeastPayload = 32;
  static constexpr size_t kMaxPayload = size_t{64} << 20;

  CallText(CallForm form, size_t client, size_t payload_bytes, unsigned sleep_ms);

  [[nodiscard]] const NumberedText& request() const { return request_; }
  // The answer of servers that pass bytes on unchanged. Other servers may order the members
  // differently.
  [[nodiscard]] const NumberedText& answer() const { return answers_[0]; }
  // answer(), and the answer that a session gets from a tool of a modern server.
  [[nodiscard]] std::span<const NumberedText> answers() const { return answers_; }
  // The place of the value of "result" in the answer. The value ends one byte before the answer.
  [[nodiscard]] size_t result_begin() const { return result_begin_; }
  // A part that the result must contain in addition to the payload.
  [[nodiscard]] std::string_view demanded() const { return demanded_; }
  // The JSON string that the answer must repeat.
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
  size_t payload_size_ = 0;   // including its quotes
};

}  // namespace stdgate::bench
