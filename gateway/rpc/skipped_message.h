// SkippedMessage: the little that is kept of a message too long to be stored.
//
// Job: find the value of the top-level member "id" in bytes that come in pieces and are forgotten
// at once, before or behind members of any size.
// Owner: a framer, for the time of one message.
// Limits: kMaxId bytes of id, kMaxBeginning of the beginning. The text is not validated; the id is,
// and it counts only when it is the only one, so that it can be put into an answer as it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::rpc {

class SkippedMessage {
 public:
  static constexpr size_t kMaxId = 64;
  static constexpr size_t kMaxBeginning = 256;

  void feed(std::string_view bytes);
  // Raw JSON; empty when there was none that could be read.
  [[nodiscard]] std::string_view id() const;
  // Whether it has a member "method", as no answer has.
  [[nodiscard]] bool names_method() const { return names_method_; }
  // The first bytes.
  [[nodiscard]] std::string_view beginning() const { return beginning_; }
  // Bytes fed so far, and the last of them.
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] char last() const { return last_; }

 private:
  // Up to kMaxId bytes; `overflow` is set if there were more.
  struct Capture {
    std::array<char, kMaxId> bytes{};
    size_t size = 0;
    bool overflow = false;

    void append(std::string_view more);
    [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
  };
  // The token that comes next at depth 1, and the one that is being captured.
  enum class Stage : uint8_t { key, value };
  enum class Capturing : uint8_t { nothing, key, id };

  const char* pass_string(const char* at, const char* end);
  void pass_token(char c);
  void pass_top_level(char c);
  void end_string();
  void end_id();

  size_t size_ = 0;
  char last_ = '\0';
  size_t depth_ = 0;
  bool over_ = false;  // the object has ended, or the text is not an object
  bool in_string_ = false;
  bool escaped_ = false;  // the next byte belongs to a backslash
  Stage stage_ = Stage::key;
  bool key_is_id_ = false;
  bool names_method_ = false;
  Capturing capturing_ = Capturing::nothing;
  Capture capture_;
  Capture id_;
  std::string beginning_;
  size_t ids_ = 0;
};

}  // namespace stdgate::rpc
