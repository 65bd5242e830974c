#include "gateway/tools/json_layout.h"

#include "gateway/base/visible_text.h"
#include "gateway/rpc/json_walk.h"

namespace stdgate::tools {

namespace {

constexpr size_t kIndent = 2;

class Layout {
 public:
  explicit Layout(std::string_view json) : at_(json.data()), end_(at_ + json.size()) {}

  std::string take() {
    while ((at_ = rpc::skip_json_space(at_, end_)) != end_) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = *at_;
    if (c == '{' || c == '[') return open(c);
    if (c == '}' || c == ']') {
      --depth_;
      start_line();
      out_ += c;
      ++at_;
    } else if (c == ',') {
      out_ += c;
      start_line();
      ++at_;
    } else if (c == ':') {
      out_ += ": ";
      ++at_;
    } else if (c == '"') {
      const char* const behind = rpc::skip_json_string(at_, end_);
      copy(behind);
    } else {
      const char* behind = at_;
      while (behind != end_ && !rpc::is_json_space(*behind) &&
             std::string_view(",:]}").find(*behind) == std::string_view::npos) {
        ++behind;
      }
      copy(behind);
    }
  }

  void open(char bracket) {
    out_ += bracket;
    at_ = rpc::skip_json_space(at_ + 1, end_);
    if (at_ != end_ && (*at_ == '}' || *at_ == ']')) {
      out_ += *at_++;
      return;
    }
    ++depth_;
    start_line();
  }
  void copy(const char* behind) {
    append_visible(out_, {at_, static_cast<size_t>(behind - at_)}, VisibleText::line);
    at_ = behind;
  }
  void start_line() { out_.append(1, '\n').append(kIndent * depth_, ' '); }

  const char* at_;
  const char* const end_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string laid_out(std::string_view json) { return Layout(json).take(); }

}  // namespace stdgate::tools
