#include "transports/http/structured_field.h"

#include <algorithm>
#include <utility>

#include "gateway/base/base64.h"
#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

// Section 4.2. Each function takes its part from the front of the text, or nothing and fails.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(trim(text, " ")) {}

  tl::expected<std::vector<DictionaryMember>, FieldError> dictionary() {
    std::vector<DictionaryMember> members;
    if (!text_.empty() && !this->members(members)) {
      return tl::unexpected(too_many_ ? FieldError::too_many : FieldError::malformed);
    }
    return members;
  }

 private:
  bool members(std::vector<DictionaryMember>& out) {
    while (true) {
      if (!has_room(out)) return false;
      auto member = this->member();
      if (!member || has_key(out, member->key)) return false;
      out.push_back(*std::move(member));
      skip(" \t");
      if (text_.empty()) return true;
      if (!take(',')) return false;
      skip(" \t");
      if (text_.empty()) return false;
    }
  }

  template <class T>
  bool has_room(const std::vector<T>& some) {
    too_many_ = some.size() == kMaxEntries || ++in_all_ > kMaxInAll;
    return !too_many_;
  }
  template <class T>
  static bool has_key(const std::vector<T>& some, std::string_view key) {
    return std::ranges::any_of(some, [key](const T& one) { return one.key == key; });
  }
  void skip(std::string_view blanks) {
    text_.remove_prefix(std::min(text_.find_first_not_of(blanks), text_.size()));
  }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  template <class Accepts>
  std::string_view take_while(Accepts&& accepts) {
    const auto* const end = std::ranges::find_if_not(text_, accepts);
    const auto taken = text_.substr(0, static_cast<size_t>(end - text_.begin()));
    text_.remove_prefix(taken.size());
    return taken;
  }

  std::optional<std::string> key() {
    if (text_.empty() || (!is_lower(text_.front()) && text_.front() != '*')) return std::nullopt;
    return std::string(take_while([](char c) {
      return is_lower(c) || is_decimal_digit(c) ||
             std::string_view("_-.*").find(c) != std::string_view::npos;
    }));
  }

  std::optional<DictionaryMember> member() {
    auto key = this->key();
    if (!key) return std::nullopt;
    DictionaryMember member;
    member.key = *std::move(key);
    const bool has_value = take('=');
    if (has_value && take('(')) {
      member.is_list = true;
      if (!rest_of_list(member.items)) return std::nullopt;
    } else {
      Item& item = member.items.emplace_back();
      if (!has_value) {
        item.value.spelled = "?1";
      } else if (!bare_item(item.value)) {
        return std::nullopt;
      }
    }
    if (!parameters(member.parameters)) return std::nullopt;
    return member;
  }

  bool rest_of_list(std::vector<Item>& items) {
    while (true) {
      skip(" ");
      if (take(')')) return true;
      if (!has_room(items)) return false;
      Item& item = items.emplace_back();
      if (!bare_item(item.value) || !parameters(item.parameters)) return false;
      if (!text_.starts_with(' ') && !text_.starts_with(')')) return false;
    }
  }

  bool parameters(std::vector<Parameter>& out) {
    while (take(';')) {
      skip(" ");
      if (!has_room(out)) return false;
      auto key = this->key();
      if (!key || has_key(out, *key)) return false;
      Parameter& parameter = out.emplace_back();
      parameter.key = *std::move(key);
      parameter.value.spelled = "?1";
      if (take('=') && !bare_item(parameter.value)) return false;
    }
    return true;
  }

  bool bare_item(BareItem& out) {
    if (text_.empty()) return false;
    const char first = text_.front();
    if (first == '"') return string(out);
    if (first == ':') return bytes(out);
    if (first == '?') return boolean(out);
    if (first == '-' || is_decimal_digit(first)) return integer(out);
    return is_alpha(first) || first == '*' ? token(out) : false;
  }

  bool string(BareItem& out) {
    out.kind = BareItem::Kind::string;
    out.spelled = "\"";
    text_.remove_prefix(1);
    while (!text_.empty()) {
      char c = text_.front();
      text_.remove_prefix(1);
      out.spelled += c;
      if (c == '"') return true;
      if (c == '\\') {
        if (text_.empty() || (text_.front() != '"' && text_.front() != '\\')) return false;
        c = text_.front();
        out.spelled += c;
        text_.remove_prefix(1);
      } else if (c < ' ' || c > '~') {
        return false;
      }
      out.text += c;
    }
    return false;
  }

  bool bytes(BareItem& out) {
    text_.remove_prefix(1);
    const size_t end = text_.find(':');
    if (end == std::string_view::npos) return false;
    std::string_view base64 = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    out.kind = BareItem::Kind::bytes;
    out.spelled = ":" + std::string(base64) + ":";
    // With padding, but for what some leave out.
    const size_t padding = base64.size() - std::min(base64.find('='), base64.size());
    if (padding > 2 || (padding > 0 && base64.size() % 4 != 0)) return false;
    base64.remove_suffix(padding);
    auto decoded = decode_base64(base64, Base64Alphabet::standard);
    if (!decoded) return false;
    out.text = *std::move(decoded);
    return true;
  }

  bool boolean(BareItem& out) {
    text_.remove_prefix(1);
    out.kind = BareItem::Kind::boolean;
    out.number = text_.starts_with('1') ? 1 : 0;
    out.spelled = out.number == 1 ? "?1" : "?0";
    return take('0') || take('1');
  }

  bool integer(BareItem& out) {
    constexpr size_t kMaxDigits = 15;
    const bool is_negative = take('-');
    const std::string_view digits = take_while(is_decimal_digit);
    if (digits.empty() || digits.size() > kMaxDigits || text_.starts_with('.')) return false;
    const auto number = static_cast<int64_t>(parse_digits(digits).value_or(0));
    out.kind = BareItem::Kind::integer;
    out.number = is_negative ? -number : number;
    out.spelled = std::to_string(out.number);
    return true;
  }

  bool token(BareItem& out) {
    out.kind = BareItem::Kind::token;
    out.text = take_while([](char c) { return c == ':' || c == '/' || is_token({&c, 1}); });
    out.spelled = out.text;
    return true;
  }

  std::string_view text_;
  size_t in_all_ = 0;
  bool too_many_ = false;
};

void append(std::string& out, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    out.append(";").append(parameter.key);
    const bool is_true =
        parameter.value.kind == BareItem::Kind::boolean && parameter.value.number == 1;
    if (!is_true) out.append("=").append(parameter.value.spelled);
  }
}

}  // namespace

const BareItem* DictionaryMember::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &Parameter::key);
  return found == parameters.end() ? nullptr : &found->value;
}

std::string DictionaryMember::list_text() const {
  std::string text = "(";
  for (const Item& item : items) {
    if (text.size() > 1) text += ' ';
    text += item.value.spelled;
    append(text, item.parameters);
  }
  text += ')';
  append(text, parameters);
  return text;
}

tl::expected<std::vector<DictionaryMember>, FieldError> parse_dictionary(std::string_view text) {
  return Parser(text).dictionary();
}

}  // namespace stdgate::http
