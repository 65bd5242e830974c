#include "gateway/rpc/skipped_message.h"

#include <cstring>
#include <span>

#include "gateway/rpc/json_scanner.h"

namespace stdgate::rpc {

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
