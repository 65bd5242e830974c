// The settings of a client as plain JSON.
#include <algorithm>
#include <utility>

#include "gateway/base/utf8.h"
#include "gateway/tools/client_settings.h"
#include "gateway/tools/toml_json.h"

namespace stdgate::tools {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// JSON with comments and trailing commas as JSON.
class PlainJson {
 public:
  explicit PlainJson(std::string_view text) : text_(text) {}

  std::string take() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const std::string_view rest = text_.substr(at_);
    if (rest.front() == '"') {
      copy_string();
    } else if (rest.starts_with("//")) {
      at_ += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      at_ = end == std::string_view::npos ? text_.size() : at_ + end + 2;
    } else {
      if (rest.front() == '}' || rest.front() == ']') drop_comma();
      out_ += rest.front();
      ++at_;
    }
  }
  void copy_string() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    out_ += text_.substr(begin, at_ - begin);
  }
  void drop_comma() {
    size_t last = out_.size();
    while (last > 0 && is_space(out_[last - 1])) --last;
    if (last > 0 && out_[last - 1] == ',') out_.erase(last - 1, 1);
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

// JSON begins with a brace, perhaps after comments.
bool is_toml(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] != '{' && text[begin] != '/' &&
         !text.substr(begin).starts_with("[]");
}

tl::expected<std::string, std::string> settings_as_json(std::string_view text) {
  const bool is_of_toml = is_toml(text);
  // Editors on Windows write it.
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (!is_of_toml) return PlainJson(text).take();
  return toml_as_json(text).map_error(
      [](const std::string& error) { return "it is no TOML: " + error; });
}

}  // namespace stdgate::tools
