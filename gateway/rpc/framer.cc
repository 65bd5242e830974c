#include "gateway/rpc/framer.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "gateway/rpc/skipped_message.h"

namespace stdgate {
namespace {

// Storage above this is given back as soon as it is empty.
constexpr size_t kKeptStorage = size_t{1} << 20;
constexpr size_t kMaxHeaderBlock = 4096;  // bytes, line ends included

std::string_view view_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

void drain(ByteQueue& buffer) {
  buffer.clear();
  buffer.release_memory(kKeptStorage);
}

// Invariant: buffer_ holds the beginning of a line, without its LF, or skipped_ has taken it over
// and buffer_ is empty. Every byte is searched for LF once.
class NewlineFramer final : public Framer {
 public:
  explicit NewlineFramer(size_t max_message) : max_message_(max_message) {}

  void feed(std::span<char> bytes, FrameSink& sink) override {
    while (!bytes.empty()) {
      const void* found = std::memchr(bytes.data(), '\n', bytes.size());
      if (found == nullptr) {
        keep(bytes);
        return;
      }
      const auto size = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
      if (buffer_.empty() && !skipped_ && size <= max_message_) {
        deliver(bytes.first(size), sink);
      } else {
        keep(bytes.first(size));
        end_line(sink);
      }
      bytes = bytes.subspan(size + 1);
    }
  }

  void finish(FrameSink& sink) override { end_line(sink); }

  [[nodiscard]] size_t buffered() const override { return buffer_.size(); }

 private:
  // Takes a piece of a line in, or gives the line up when it is too long for certain: one byte more
  // than the limit may still be the CR of the line end.
  void keep(std::span<char> piece) {
    if (!skipped_) {
      const size_t size = buffer_.size() + piece.size();
      const std::string_view end = piece.empty() ? buffer_.view() : view_of(piece);
      const bool ends_in_cr = end.ends_with('\r');
      if (size <= max_message_ + (ends_in_cr ? 1 : 0)) {
        buffer_.append(view_of(piece));
        return;
      }
      skipped_.emplace().feed(buffer_.view());
      drain(buffer_);
    }
    skipped_->feed(view_of(piece));
  }

  void end_line(FrameSink& sink) {
    if (skipped_) {
      const SkippedMessage skipped = *skipped_;
      skipped_.reset();
      sink.on_oversized_frame(skipped.id(), skipped.size() - (skipped.last() == '\r' ? 1 : 0));
      return;
    }
    deliver(buffer_.bytes(), sink);
    drain(buffer_);
  }

  static void deliver(std::span<char> line, FrameSink& sink) {
    if (!line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
    if (!line.empty()) sink.on_frame(line);
  }

  const size_t max_message_;
  ByteQueue buffer_;
  std::optional<SkippedMessage> skipped_;
};

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The LSP base protocol. Invariant: missing_ is the part of the body that has not arrived yet; it
// is zero while a header block is read.
class ContentLengthFramer final : public Framer {
 public:
  explicit ContentLengthFramer(size_t max_message) : max_message_(max_message) {}

  void feed(std::span<char> bytes, FrameSink& sink) override {
    while (!bytes.empty() && !broken_) {
      bytes = bytes.subspan(missing_ > 0 ? take_body(bytes, sink) : take_header(bytes, sink));
    }
  }

  void finish(FrameSink&) override {
    drain(buffer_);
    skipped_.reset();
    missing_ = 0;
    start_header();
  }

  [[nodiscard]] size_t buffered() const override { return buffer_.size(); }

 private:
  // Each takes bytes from the front and says how many.
  size_t take_body(std::span<char> bytes, FrameSink& sink) {
    const size_t size = std::min(missing_, bytes.size());
    const std::span<char> piece = bytes.first(size);
    missing_ -= size;
    if (skipped_) {
      skipped_->feed(view_of(piece));
    } else if (missing_ > 0 || !buffer_.empty()) {
      if (buffer_.empty()) buffer_.reserve(size + missing_);
      buffer_.append(view_of(piece));
    }
    if (missing_ > 0) return size;
    if (skipped_) {
      const SkippedMessage skipped = *skipped_;
      skipped_.reset();
      sink.on_oversized_frame(skipped.id(), skipped.size());
    } else {
      sink.on_frame(buffer_.empty() ? piece : buffer_.bytes());
      drain(buffer_);
    }
    return size;
  }

  size_t take_header(std::span<char> bytes, FrameSink& sink) {
    const void* found = std::memchr(bytes.data(), '\n', bytes.size());
    const size_t size =
        found == nullptr ? bytes.size()
                         : static_cast<size_t>(static_cast<const char*>(found) - bytes.data()) + 1;
    if (size > kMaxHeaderBlock - header_size_) {
      lose_framing("header block over the limit", sink);
      return size;
    }
    header_size_ += size;
    buffer_.append(view_of(bytes.first(size)));
    if (found == nullptr) return size;
    std::string_view line = buffer_.view();
    line.remove_suffix(line.ends_with("\r\n") ? 2 : 1);
    const char* fault = line.empty() ? end_header() : take_header_line(line);
    drain(buffer_);
    if (fault != nullptr) lose_framing(fault, sink);
    return size;
  }

  // Both say what is wrong, null when nothing is.
  const char* take_header_line(std::string_view line) {
    has_header_ = true;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return "header line without colon";
    if (!equals_ignoring_case(trim(line.substr(0, colon)), "content-length")) return nullptr;
    if (length_) return "several Content-Length";
    const std::string_view digits = trim(line.substr(colon + 1));
    size_t length = 0;
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, length);
    if (parsed.ec != std::errc() || parsed.ptr != end) return "Content-Length is no number";
    length_ = length;
    return nullptr;
  }

  const char* end_header() {
    if (!has_header_) return nullptr;  // an empty line in front of the block
    if (!length_) return "no Content-Length";
    missing_ = *length_;
    if (missing_ > max_message_) skipped_.emplace();
    start_header();
    return nullptr;
  }

  void start_header() {
    header_size_ = 0;
    has_header_ = false;
    length_.reset();
  }

  void lose_framing(const char* reason, FrameSink& sink) {
    broken_ = true;
    drain(buffer_);
    sink.on_broken_framing(reason);
  }

  const size_t max_message_;
  ByteQueue buffer_;  // the header line, or the body, that is not complete yet
  std::optional<SkippedMessage> skipped_;
  size_t missing_ = 0;
  size_t header_size_ = 0;
  bool has_header_ = false;
  std::optional<size_t> length_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Framer> make_framer(Framing framing, size_t max_message) {
  if (framing == Framing::content_length) return std::make_unique<ContentLengthFramer>(max_message);
  return std::make_unique<NewlineFramer>(max_message);
}

FrameEnds frame_ends(Framing framing, size_t size, std::string& scratch) {
  if (framing == Framing::newline) return {"", "\n"};
  scratch = "Content-Length: ";
  scratch += std::to_string(size);
  scratch += "\r\n\r\n";
  return {scratch, ""};
}

}  // namespace stdgate
