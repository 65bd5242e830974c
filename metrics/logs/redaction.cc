#include "metrics/logs/redaction.h"

#include <algorithm>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::logs {
namespace {

constexpr std::string_view kHidden = "\"***\"";
constexpr std::string_view kCut = "…";

const char* end_of(std::string_view text) { return text.data() + text.size(); }

// Each from `at` on: where the space, the string, the value ends.
size_t skip_space(std::string_view json, size_t at) {
  return static_cast<size_t>(rpc::skip_json_space(json.data() + at, end_of(json)) - json.data());
}
size_t end_of_string(std::string_view json, size_t at) {
  return static_cast<size_t>(rpc::skip_json_string(json.data() + at, end_of(json)) - json.data());
}
size_t end_of_value(std::string_view json, size_t at) {
  return static_cast<size_t>(rpc::skip_json_value(json.data() + at, end_of(json)) - json.data());
}

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char c, char d) { return lower_ascii(c) == lower_ascii(d); });
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// Whether decode_string() can decode `raw`.
bool has_valid_escapes(std::string_view raw) {
  for (size_t at = 0; (at = raw.find('\\', at)) != std::string_view::npos; at += 2) {
    if (at + 1 == raw.size()) return false;
    const char kind = raw[at + 1];
    if (std::string_view("\"\\/bfnrtu").find(kind) == std::string_view::npos) return false;
    if (kind == 'u' && (raw.size() < at + 6 || !is_hex(raw.substr(at + 2, 4)))) return false;
  }
  return true;
}

// One text: the message (nesting 0), or what a string in it holds.
//
// A message is JSON, so each quote opens a string or closes one. The content of a string need not
// be JSON, or has other text before it: there each quote may open a name.
class Redactor {
 public:
  Redactor(std::string_view json, std::span<const std::string> hidden, size_t nesting)
      : json_(json), hidden_(hidden), nesting_(nesting) {}

  // Stops once there is more than `limit`.
  void run(size_t limit) {
    while (at_ < json_.size() && out_.size() <= limit) {
      if (json_[at_] == '"') {
        pass_quote(limit);
      } else {
        pass(json_[at_] == '\\' ? 2 : 1);
      }
    }
  }

  [[nodiscard]] bool has_hidden() const { return has_hidden_; }
  std::string take() { return std::move(out_); }

 private:
  void pass(size_t size) {
    const std::string_view text = json_.substr(at_, size);
    out_ += text;
    at_ += text.size();
  }

  void pass_quote(size_t limit) {
    const size_t end = end_of_string(json_, at_);
    const std::string_view raw = inside(json_.substr(at_, end - at_));
    const size_t colon = skip_space(json_, end);
    const bool is_name = colon < json_.size() && json_[colon] == ':';
    if (!hidden_.empty() && has_valid_escapes(raw)) {
      if (is_name && is_hidden(rpc::decode_string(raw, scratch_))) {
        pass(end - at_);
        out_ += ':';
        return hide(end_of_value(json_, skip_space(json_, colon + 1)));
      }
      if (!is_name && hide_within(raw, end, limit)) return;
    }
    pass(nesting_ == 0 ? end - at_ : 1);
  }

  // Replaces everything up to `end`.
  void hide(size_t end) {
    out_ += kHidden;
    has_hidden_ = true;
    at_ = end;
  }

  // The string up to `end`, when something in it is hidden. A text has a name in it only where it
  // has a quote, which takes an escape.
  bool hide_within(std::string_view raw, size_t end, size_t limit) {
    if (raw.find('\\') == std::string_view::npos) return false;
    const std::string_view held = rpc::decode_string(raw, scratch_);
    if (held.find('"') == std::string_view::npos) return false;
    if (nesting_ == kMaxNesting) {
      hide(end);
      return true;
    }
    Redactor within(held, hidden_, nesting_ + 1);
    within.run(limit);
    if (!within.has_hidden()) return false;
    rpc::append_json_string(out_, within.take());
    has_hidden_ = true;
    at_ = end;
    return true;
  }

  // Without the quotes; a text that is no JSON may lack the second one.
  static std::string_view inside(std::string_view text) {
    text.remove_prefix(1);
    if (text.ends_with('"')) text.remove_suffix(1);
    return text;
  }

  [[nodiscard]] bool is_hidden(std::string_view key) const {
    return std::any_of(hidden_.begin(), hidden_.end(),
                       [key](const std::string& name) { return is_same_name(key, name); });
  }

  const std::string_view json_;
  const std::span<const std::string> hidden_;
  const size_t nesting_;
  size_t at_ = 0;
  bool has_hidden_ = false;
  std::string out_;
  std::string scratch_;
};

}  // namespace

std::string redact(std::string_view json, std::span<const std::string> hidden, size_t limit) {
  Redactor redactor(json, hidden, 0);
  redactor.run(limit);
  std::string shown = redactor.take();
  if (shown.size() > limit) {
    shown.resize(cut_utf8(shown, limit).size());
    shown += kCut;
  }
  return shown;
}

}  // namespace stdgate::logs
