#include "transports/http/message_signature.h"

#include <algorithm>
#include <vector>

#include "gateway/base/ascii.h"
#include "gateway/base/web_url.h"
#include "transports/auth/digest.h"
#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

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
