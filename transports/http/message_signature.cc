#include "transports/http/message_signature.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "transports/auth/digest.h"
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

using Kind = BareItem::Kind;

constexpr SignatureError kTwice{true, "send one signature: one Signature-Input, one Signature"};
constexpr SignatureError kMalformed{true, "the signature is malformed"};
constexpr SignatureError kTooMany{
    true, "the signature has more than 64 members, components or parameters, or 256 in all"};
static_assert(kMaxEntries == 64 && kMaxInAll == 256);
constexpr SignatureError kUnknownComponent{false, "the signature covers what is not known here"};
constexpr SignatureError kAbsent{false, "the signature covers a field that is not there"};
constexpr SignatureError kNoMethod{false, "the signature must cover @method"};
constexpr SignatureError kNoTarget{
    false, "the signature must cover @target-uri, or @path, and @query where there is one"};
constexpr SignatureError kNoDigest{false, "the signature must cover content-digest"};
constexpr SignatureError kNoParameters{false, "the signature must have created, keyid and nonce"};

// Null: none, or several.
const HeaderField* find_only(const RequestHead& head, std::string_view name, size_t& count) {
  const HeaderField* found = nullptr;
  count = 0;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, name)) continue;
    found = &field;
    ++count;
  }
  return count == 1 ? found : nullptr;
}

// Section 2.1; nothing: there is no such field.
std::optional<std::string> combined(const RequestHead& head, std::string_view name) {
  std::optional<std::string> value;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, name)) continue;
    if (value) value->append(", ");
    value = value.value_or(std::string()).append(field.value);
  }
  return value;
}

// Section 2.2.3.
std::string normal_authority(const WebUrl& url) {
  std::string text(url.authority);
  std::ranges::transform(text, text.begin(), lower_ascii);
  const std::string_view port = url.is_secure ? ":443" : ":80";
  if (text.ends_with(port)) text.resize(text.size() - port.size());
  return text;
}

// Section 2.2. Nothing: the component is absent, or not known here.
std::optional<std::string> derived(std::string_view name, const RequestHead& head,
                                   std::string_view origin) {
  const auto url = WebUrl::parse(origin);
  if (!url) return std::nullopt;
  const auto path = [&] { return std::string(url->path).append(head.path()); };
  const auto query = [&] { return "?" + std::string(head.query()); };
  if (name == "@method") return std::string(head.method_text());
  if (name == "@authority") return normal_authority(*url);
  if (name == "@scheme") return std::string(url->is_secure ? "https" : "http");
  if (name == "@path") return path();
  if (name == "@query") return query();
  if (name != "@target-uri") return std::nullopt;
  return std::string(url->origin).append(path()).append(head.query().empty() ? "" : query());
}

bool covers(const DictionaryMember& input, std::string_view name) {
  return std::ranges::any_of(input.items,
                             [name](const Item& item) { return item.value.text == name; });
}

// The components that it has to cover.
std::optional<SignatureError> find_gap(const DictionaryMember& input, const RequestHead& head) {
  if (!covers(input, "@method")) return kNoMethod;
  const bool has_query = !head.query().empty();
  const bool has_target = covers(input, "@target-uri") ||
                          (covers(input, "@path") && (!has_query || covers(input, "@query")));
  if (!has_target) return kNoTarget;
  if (head.has_body() && !covers(input, "content-digest")) return kNoDigest;
  return std::nullopt;
}

std::optional<SignatureError> read_parameters(const DictionaryMember& input,
                                              auth::MessageSignature& out) {
  const auto find = [&input](std::string_view name, Kind kind) {
    const BareItem* const found = input.parameter(name);
    return found != nullptr && found->kind == kind ? found : nullptr;
  };
  const BareItem* const created = find("created", Kind::integer);
  const BareItem* const key_id = find("keyid", Kind::string);
  const BareItem* const nonce = find("nonce", Kind::string);
  if (created == nullptr || key_id == nullptr || nonce == nullptr || nonce->text.empty() ||
      nonce->text.size() > kMaxNonce) {
    return kNoParameters;
  }
  out.created = created->number;
  out.key_id = key_id->text;
  out.nonce = nonce->text;
  if (input.parameter("alg") != nullptr) {
    const BareItem* const algorithm = find("alg", Kind::string);
    if (algorithm == nullptr) return kMalformed;
    out.algorithm = algorithm->text;
  }
  if (input.parameter("expires") != nullptr) {
    const BareItem* const expires = find("expires", Kind::integer);
    if (expires == nullptr) return kMalformed;
    out.expires = expires->number;
  }
  return std::nullopt;
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

tl::expected<std::string, SignatureError> signature_base(const DictionaryMember& input,
                                                         const RequestHead& head,
                                                         std::string_view origin) {
  std::string base;
  for (auto item = input.items.begin(); item != input.items.end(); ++item) {
    const std::string& name = item->value.text;
    const bool is_twice = std::any_of(
        input.items.begin(), item, [&name](const Item& other) { return other.value.text == name; });
    if (item->value.kind != Kind::string || name.empty() || is_twice) {
      return tl::unexpected(kMalformed);
    }
    if (!item->parameters.empty()) return tl::unexpected(kUnknownComponent);
    const bool is_derived = name.front() == '@';
    const auto value = is_derived ? derived(name, head, origin) : combined(head, name);
    if (!value) return tl::unexpected(is_derived ? kUnknownComponent : kAbsent);
    base.append(item->value.spelled).append(": ").append(*value).append("\n");
  }
  return base.append("\"@signature-params\": ").append(input.list_text());
}

tl::expected<std::optional<auth::MessageSignature>, SignatureError> read_signature(
    const RequestHead& head, std::string_view origin) {
  size_t inputs = 0;
  size_t signatures = 0;
  const HeaderField* const input_field = find_only(head, "signature-input", inputs);
  const HeaderField* const signature_field = find_only(head, "signature", signatures);
  if (inputs == 0 && signatures == 0) return std::nullopt;
  if (input_field == nullptr || signature_field == nullptr) return tl::unexpected(kTwice);
  const auto inputs_read = parse_dictionary(input_field->value);
  const auto signatures_read = parse_dictionary(signature_field->value);
  if (!inputs_read || !signatures_read) {
    const FieldError error = inputs_read ? signatures_read.error() : inputs_read.error();
    return tl::unexpected(error == FieldError::too_many ? kTooMany : kMalformed);
  }
  if (inputs_read->size() != 1 || signatures_read->size() != 1) return tl::unexpected(kTwice);
  const DictionaryMember& input = inputs_read->front();
  const DictionaryMember& signature = signatures_read->front();
  const bool is_pair = input.key == signature.key && input.is_list && !signature.is_list &&
                       signature.items.front().value.kind == Kind::bytes;
  if (!is_pair) return tl::unexpected(kMalformed);
  auth::MessageSignature read;
  if (const auto error = find_gap(input, head)) return tl::unexpected(*error);
  if (const auto error = read_parameters(input, read)) return tl::unexpected(*error);
  auto base = signature_base(input, head, origin);
  if (!base) return tl::unexpected(base.error());
  read.base = *std::move(base);
  read.signature = signature.items.front().value.text;
  return read;
}

bool is_digest_right(const RequestHead& head, std::span<const char> body) {
  const auto field = combined(head, "content-digest");
  if (!field) return body.empty();
  const auto digests = parse_dictionary(*field);
  if (!digests) return false;
  const std::string_view content(body.data(), body.size());
  bool is_known = false;
  for (const DictionaryMember& digest : *digests) {
    const auto algorithm = auth::find_digest(digest.key);
    if (!algorithm) continue;
    is_known = true;
    const bool is_bytes = !digest.is_list && digest.items.front().value.kind == Kind::bytes;
    if (!is_bytes || !auth::is_digest_of(*algorithm, digest.items.front().value.text, content)) {
      return false;
    }
  }
  return is_known;
}

}  // namespace stdgate::http
