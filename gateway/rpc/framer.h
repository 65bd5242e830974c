// Framer: cuts a byte stream into messages. SkippedMessage: what is kept of one that is too long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/byte_storage.h"

namespace stdgate::rpc {

// Framing: how a stream separates its messages.
//
// newline: one message a line. LF ends it, a CR before the LF is dropped, an empty line is ignored,
//   the last line counts without LF (finish()).
// content_length: a header block as in the LSP base protocol, then so many bytes. Headers are read
//   leniently (any order and case, LF alone tolerated) and written strictly.
enum class Framing : uint8_t { newline, content_length };

// A message longer than the limit. Views are valid during the call.
struct OversizedFrame {
  std::string_view id;  // raw JSON of its top-level "id"; empty: it had none that could be read
  size_t size = 0;
  std::string_view beginning{};  // its first bytes, SkippedMessage::kMaxBeginning at most
};

// FrameSink: receives the messages of a Framer.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // One complete message without its framing; not empty. The bytes may be changed in place and are
  // valid during the call only.
  virtual void on_frame(std::span<char> message) = 0;
  // A message longer than the limit has been skipped.
  virtual void on_oversized_frame(const OversizedFrame& frame) = 0;
  // content_length only: the header block makes no sense (no or more than one Content-Length, no
  // number, header over the limit). Framing is lost for good; the reader has to end the stream.
  virtual void on_broken_framing(const char* reason) = 0;
};

// Framer: cuts a byte stream into messages. No I/O: the framer is fed with what was read, in pieces
// of any size.
//
// A message that arrives in several reads is assembled in pooled storage, which is offered
// (StorageOffer) to the receiver. Owner: the reader of the stream. Limit: `max_message` bytes a
// message. A longer message is skipped to its end without being stored, and reported with its id,
// so that one call fails and the stream goes on.
class Framer {
 public:
  virtual ~Framer() = default;
  // Hands every message that `bytes` completes to `sink`. A message that lies within `bytes` is
  // handed over in place, without a copy. The sink must not destroy the framer.
  virtual void feed(std::span<char> bytes, FrameSink& sink) = 0;
  // The stream has ended: hands over a last unterminated line (newline framing only).
  virtual void finish(FrameSink& sink) = 0;
  // Bytes of a message that is not complete yet, and the memory that they take.
  [[nodiscard]] virtual size_t buffered() const = 0;
  [[nodiscard]] virtual size_t held() const = 0;
  // Gives that memory up: the message is skipped to its end, and reported as if it were too long.
  virtual void give_up() = 0;
};

std::unique_ptr<Framer> make_framer(Framing framing, size_t max_message, StoragePool& storages);

// The bytes before and behind a message of `size` bytes on the wire. `scratch` holds the head and
// must outlive the views.
struct FrameEnds {
  std::string_view head;
  std::string_view tail;
};
FrameEnds frame_ends(Framing framing, size_t size, std::string& scratch);

// SkippedMessage: the little that is kept of a message too long to be stored.
//
// Job: find the value of the top-level member "id" in bytes that come in pieces and are forgotten
// at once, before or behind members of any size.
// Owner: a framer, for the time of one message.
// Limits: kMaxId bytes of id, kMaxBeginning of the beginning. The text is not validated; the id is,
// and it counts only when it is the only one, so that it can be put into an answer as it is.
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
