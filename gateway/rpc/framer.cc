#include "gateway/rpc/framer.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "gateway/base/byte_storage.h"
#include "gateway/base/text.h"
#include "gateway/rpc/json_scanner.h"

namespace stdgate::rpc {

namespace {

constexpr size_t kMaxHeaderBlock = 4096;  // bytes, line ends included

std::string_view view_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

// `message` lies in `buffer` if that is not empty, else in what was read.
void hand_over(std::span<char> message, PooledBuffer& buffer, FrameSink& sink) {
  if (buffer.empty()) return sink.on_frame(message);
  const StorageOffer offer = buffer.offer();
  sink.on_frame(message);
}

// Invariant: buffer_ holds the beginning of a line, without its LF, or skipped_ has taken it over
// and buffer_ is empty. Every byte is searched for LF once.
class NewlineFramer final : public Framer {
 public:
  NewlineFramer(size_t max_message, StoragePool& storages)
      : max_message_(max_message), buffer_(storages) {}

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
  [[nodiscard]] size_t held() const override { return buffer_.capacity(); }
  void give_up() override {
    if (!buffer_.empty()) skip();
  }

 private:
  // Takes a piece of a line in, or gives the line up when it is too long for certain: one byte more
  // than the limit may still be the CR of the line end.
  void keep(std::span<char> piece) {
    if (!skipped_) {
      const size_t size = buffer_.size() + piece.size();
      const std::string_view end = piece.empty() ? buffer_.view() : view_of(piece);
      const bool ends_in_cr = end.ends_with('\r');
      if (size <= max_message_ + (ends_in_cr ? 1 : 0)) {
        buffer_.append(view_of(piece),
                       buffer_.empty() ? std::max(piece.size(), usual_) : piece.size());
        return;
      }
      skip();
    }
    skipped_->feed(view_of(piece));
  }
  void skip() {
    skipped_.emplace().feed(buffer_.view());
    buffer_.release();
  }

  void end_line(FrameSink& sink) {
    if (skipped_) {
      const SkippedMessage skipped = *skipped_;
      skipped_.reset();
      sink.on_oversized_frame(
          {skipped.id(), skipped.size() - (skipped.last() == '\r' ? 1 : 0), skipped.beginning()});
      return;
    }
    usual_ = std::max(buffer_.size(), usual_ - usual_ / 8);
    deliver(buffer_.bytes(), sink);
    buffer_.release();
  }

  void deliver(std::span<char> line, FrameSink& sink) {
    if (!line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
    if (!line.empty()) hand_over(line, buffer_, sink);
  }

  const size_t max_message_;
  PooledBuffer buffer_;  // the received part of a line
  size_t usual_ = 0;     // what lines in parts have needed of late: room that saves growing
  std::optional<SkippedMessage> skipped_;
};

// The LSP base protocol. Invariant: missing_ is the part of the body that has not arrived yet; it
// is zero while a header block is read.
class ContentLengthFramer final : public Framer {
 public:
  ContentLengthFramer(size_t max_message, StoragePool& storages)
      : max_message_(max_message), buffer_(storages) {}

  void feed(std::span<char> bytes, FrameSink& sink) override {
    while (!bytes.empty() && !broken_) {
      bytes = bytes.subspan(missing_ > 0 ? take_body(bytes, sink) : take_header(bytes, sink));
    }
  }

  void finish(FrameSink&) override {
    buffer_.release();
    skipped_.reset();
    missing_ = 0;
    start_header();
  }

  [[nodiscard]] size_t buffered() const override { return buffer_.size(); }
  [[nodiscard]] size_t held() const override { return buffer_.capacity(); }
  void give_up() override {
    if (missing_ == 0 || buffer_.empty()) return;
    skipped_.emplace().feed(buffer_.view());
    buffer_.release();
  }

 private:
  // Each consumes bytes from the front and returns their number.
  size_t take_body(std::span<char> bytes, FrameSink& sink) {
    const size_t size = std::min(missing_, bytes.size());
    const std::span<char> piece = bytes.first(size);
    missing_ -= size;
    if (skipped_) {
      skipped_->feed(view_of(piece));
    } else if (missing_ > 0 || !buffer_.empty()) {
      buffer_.append_announced(view_of(piece), size + missing_);
    }
    if (missing_ > 0) return size;
    if (skipped_) {
      const SkippedMessage skipped = *skipped_;
      skipped_.reset();
      sink.on_oversized_frame({skipped.id(), skipped.size(), skipped.beginning()});
    } else {
      hand_over(buffer_.empty() ? piece : buffer_.bytes(), buffer_, sink);
      buffer_.release();
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
    std::string_view line = view_of(bytes.first(size));
    if (found == nullptr || !buffer_.empty()) {
      buffer_.append(line, size);
      if (found == nullptr) return size;
      line = buffer_.view();
    }
    line.remove_suffix(line.ends_with("\r\n") ? 2 : 1);
    const char* fault = line.empty() ? end_header() : take_header_line(line);
    buffer_.release();
    if (fault != nullptr) lose_framing(fault, sink);
    return size;
  }

  // This and the next return what is wrong, or null.
  const char* take_header_line(std::string_view line) {
    has_header_ = true;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return "header line without colon";
    if (!equals_ignoring_case(trim(line.substr(0, colon)), "content-length")) return nullptr;
    if (length_) return "more than one Content-Length";
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
    buffer_.release();
    sink.on_broken_framing(reason);
  }

  const size_t max_message_;
  PooledBuffer buffer_;  // the header line, or the body, that is not complete yet
  std::optional<SkippedMessage> skipped_;
  size_t missing_ = 0;
  size_t header_size_ = 0;
  bool has_header_ = false;
  std::optional<size_t> length_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Framer> make_framer(Framing framing, size_t max_message, StoragePool& storages) {
  if (framing == Framing::content_length)
    return std::make_unique<ContentLengthFramer>(max_message, storages);
  return std::make_unique<NewlineFramer>(max_message, storages);
}

FrameEnds frame_ends(Framing framing, size_t size, std::string& scratch) {
  if (framing == Framing::newline) return {"", "\n"};
  scratch = "Content-Length: ";
  scratch += std::to_string(size);
  scratch += "\r\n\r\n";
  return {scratch, ""};
}

void SkippedMessage::Capture::append(std::string_view more) {
  if (more.size() > bytes.size() - size) {
    overflow = true;
    return;
  }
  std::memcpy(bytes.data() + size, more.data(), more.size());
  size += more.size();
}

std::string_view SkippedMessage::id() const {
  if (ids_ != 1 || id_.overflow || !is_id_value(id_.view())) return {};
  // A string, a number or null, and nothing else: it nests nowhere.
  std::array<char, kMaxId> copy = id_.bytes;
  JsonScanner scanner{std::span<char>(copy).first(id_.size), {}};
  if (scanner.scan_value(scanner.begin()) != scanner.end() || !valid_utf8(id_.view())) return {};
  return id_.view();
}

void SkippedMessage::feed(std::string_view bytes) {
  if (bytes.empty()) return;
  if (beginning_.size() < kMaxBeginning) {
    beginning_ += bytes.substr(0, kMaxBeginning - beginning_.size());
  }
  size_ += bytes.size();
  last_ = bytes.back();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end && !over_) {
    if (in_string_) {
      at = pass_string(at, end);
    } else {
      pass_token(*at++);
    }
  }
}

// Inside of a string: up to its end, its next escape, or the end of the bytes.
const char* SkippedMessage::pass_string(const char* at, const char* end) {
  const char* const start = at;
  if (escaped_) {
    escaped_ = false;
    ++at;
  } else {
    uint64_t non_ascii = 0;
    at = find_string_special(at, end, non_ascii);
    if (at != end) {
      escaped_ = *at == '\\';
      in_string_ = *at != '"';
      ++at;
    }
  }
  if (capturing_ != Capturing::nothing) capture_.append({start, static_cast<size_t>(at - start)});
  if (!in_string_) end_string();
  return at;
}

void SkippedMessage::pass_token(char c) {
  if (depth_ == 1) pass_top_level(c);
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      return;
    case '"':
      in_string_ = true;
      break;
    case '{':
    case '[':
      ++depth_;
      break;
    case '}':
    case ']':
      if (depth_ > 0) --depth_;
      break;
    default:
      break;
  }
  // Only an object has members: what begins otherwise has no id.
  over_ = depth_ == 0 || (depth_ == 1 && c == '[');
}

void SkippedMessage::pass_top_level(char c) {
  switch (c) {
    case ',':
      end_id();
      stage_ = Stage::key;
      return;
    case '}':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      end_id();
      return;
    case ':':
      stage_ = Stage::value;
      return;
    default:
      break;
  }
  if (capturing_ == Capturing::nothing) {
    if (stage_ == Stage::value && !key_is_id_) return;
    capture_ = Capture{};
    capturing_ = stage_ == Stage::key ? Capturing::key : Capturing::id;
  }
  capture_.append({&c, 1});
}

void SkippedMessage::end_string() {
  if (capturing_ == Capturing::key) {
    key_is_id_ = !capture_.overflow && capture_.view() == R"("id")";
    names_method_ = names_method_ || (!capture_.overflow && capture_.view() == R"("method")");
    capturing_ = Capturing::nothing;
  }
  end_id();
}

void SkippedMessage::end_id() {
  if (capturing_ == Capturing::id) {
    id_ = capture_;
    ++ids_;
  }
  capturing_ = Capturing::nothing;
}

}  // namespace stdgate::rpc
