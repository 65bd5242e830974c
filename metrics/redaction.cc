#include "metrics/redaction.h"

#include <algorithm>

#include "gateway/rpc/json_string.h"

namespace stdgate {
namespace {

constexpr std::string_view kHidden = "\"***\"";
constexpr std::string_view kCut = "…";

size_t skip_space(std::string_view json, size_t at) {
  return std::min(json.find_first_not_of(" \t\r\n", at), json.size());
}

// Behind the closing quote of the string that opens at `at`.
size_t end_of_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

// Behind the value that begins at `at`.
size_t end_of_value(std::string_view json, size_t at) {
  size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = end_of_string(json, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return at;
}

class Redactor {
 public:
  Redactor(std::string_view json, std::span<const std::string> hidden)
      : json_(json), hidden_(hidden) {}

  std::string run(size_t limit) {
    while (at_ < json_.size() && out_.size() <= limit) {
      if (json_[at_] == '"') {
        pass_string();
      } else {
        out_ += json_[at_++];
      }
    }
    if (out_.size() > limit) {
      // Not in the middle of a character.
      while (limit > 0 && (static_cast<unsigned char>(out_[limit]) & 0xc0) == 0x80) --limit;
      out_.resize(limit);
      out_ += kCut;
    }
    return std::move(out_);
  }

 private:
  void pass_string() {
    const size_t end = end_of_string(json_, at_);
    const std::string_view text = json_.substr(at_, end - at_);
    out_ += text;
    at_ = end;
    const size_t colon = skip_space(json_, at_);
    if (colon == json_.size() || json_[colon] != ':') return;  // a value, not a key
    const std::string_view key = decode_string(text.substr(1, text.size() - 2), scratch_);
    if (std::find(hidden_.begin(), hidden_.end(), key) == hidden_.end()) return;
    out_ += ':';
    out_ += kHidden;
    at_ = end_of_value(json_, skip_space(json_, colon + 1));
  }

  const std::string_view json_;
  const std::span<const std::string> hidden_;
  size_t at_ = 0;
  std::string out_;
  std::string scratch_;
};

}  // namespace

std::string redact(std::string_view json, std::span<const std::string> hidden, size_t limit) {
  return Redactor(json, hidden).run(limit);
}

}  // namespace stdgate
