#include "transports/http/request_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "transports/http/authentication.h"
#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

tl::unexpected<HeadError> bad_target() {
  return tl::unexpected<HeadError>(HeadError{400, "malformed request target"});
}

}  // namespace

void RequestHead::clear() {
  fields_.clear();
  method_text_ = path_ = query_ = authority_ = {};
  method_ = Method::other;
  seen_ = 0;
  lacks_authority_ = has_body_ = has_credentials_ = is_ambiguous_ = false;
}

void RequestHead::note_field(const HeaderField& field) {
  const auto is = [&field](std::string_view name) {
    return equals_ignoring_case(field.name, name);
  };
  switch (field.name.size()) {
    case 6:
      has_credentials_ = has_credentials_ || is("cookie");
      break;
    case 8:
      note_once(field, "mcp-name");
      break;
    case 9:
      has_credentials_ = has_credentials_ || is("x-api-key");
      break;
    case 10:
      note_once(field, "mcp-method");
      break;
    case 13:
      has_credentials_ = has_credentials_ || is("authorization");
      note_once(field, "last-event-id");
      break;
    case 14:
      note_once(field, "mcp-session-id");
      note_once(field, "acp-session-id");
      break;
    case 17:
      note_once(field, "acp-connection-id");
      break;
    case 19:
      has_credentials_ = has_credentials_ || is("proxy-authorization");
      break;
    case 20:
      note_once(field, "mcp-protocol-version");
      break;
    case 22:
      has_credentials_ =
          has_credentials_ || (is("sec-websocket-protocol") &&
                               field.value.find(kBearerProtocol) != std::string_view::npos);
      break;
    default:
      break;
  }
}

// `name` is in lower case, and no two of them that one request has are of one length.
void RequestHead::note_once(const HeaderField& field, std::string_view name) {
  if (!equals_ignoring_case(field.name, name)) return;
  const uint32_t bit = 1U << name.size();
  is_ambiguous_ = is_ambiguous_ || (seen_ & bit) != 0;
  seen_ |= bit;
}

// RFC 9112 section 3.2: origin-form, absolute-form, or the asterisk of OPTIONS.
tl::expected<void, HeadError> RequestHead::take_target(std::string_view target) {
  if (target.size() > kMaxTarget) {
    return tl::unexpected<HeadError>(HeadError{414, "request target too long"});
  }
  if (target == "*") {
    if (method_ != Method::options) return bad_target();
    path_ = target;
    return {};
  }
  std::string_view rest = target;
  if (!rest.starts_with('/')) {
    const size_t scheme = rest.find("://");
    if (scheme == std::string_view::npos ||
        (!equals_ignoring_case(rest.substr(0, scheme), "http") &&
         !equals_ignoring_case(rest.substr(0, scheme), "https"))) {
      return bad_target();
    }
    rest.remove_prefix(scheme + 3);
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    authority_ = rest.substr(0, end);
    if (!is_authority(authority_)) return bad_target();
    rest.remove_prefix(end);
  }
  const size_t question = rest.find('?');
  path_ = rest.substr(0, question);
  if (path_.empty()) path_ = "/";
  if (question != std::string_view::npos) query_ = rest.substr(question + 1);
  has_credentials_ = has_credentials_ || shown_ticket(query_).has_value();
  if (rest.find('#') != std::string_view::npos || !is_percent_encoded(rest)) return bad_target();
  return {};
}

const HeaderField* RequestHead::find(std::string_view name) const {
  for (const HeaderField& field : fields_) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_decoded(std::string& out, std::string_view text, bool plus_is_space) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
}

}  // namespace

std::string_view percent_decode(std::string_view text, std::string& scratch) {
  if (text.find('%') == std::string_view::npos) return text;
  scratch.clear();
  append_decoded(scratch, text, false);
  return scratch;
}

namespace {

// Takes pairs off the front of `query`, until one has this name. Its value, as it is written;
// nothing: there is none.
std::optional<std::string_view> take_parameter(std::string_view& query, std::string_view name) {
  std::string decoded;
  while (!query.empty()) {
    const size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    query.remove_prefix(ampersand == std::string_view::npos ? query.size() : ampersand + 1);
    const size_t equals = std::min(pair.find('='), pair.size());
    decoded.clear();
    append_decoded(decoded, pair.substr(0, equals), true);
    if (decoded == name) return pair.substr(std::min(equals + 1, pair.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
  const auto value = take_parameter(query, name);
  if (!value) return std::nullopt;
  std::string decoded;
  append_decoded(decoded, *value, true);
  return decoded;
}

size_t count_parameters(std::string_view query, std::string_view name) {
  size_t count = 0;
  while (take_parameter(query, name)) ++count;
  return count;
}

namespace {

constexpr std::string_view kForwarded = "forwarded";

// The statement of one proxy about the client of its request.
struct Hop {
  ClientAddress address{};  // none: the proxy does not say ("unknown", "_hidden")
  std::optional<bool> is_secure{};
};

std::optional<uint16_t> parse_port(std::string_view text) {
  const auto number = text.size() <= 5 ? parse_digits(text) : std::nullopt;
  if (!number || *number > UINT16_MAX) return std::nullopt;
  return static_cast<uint16_t>(*number);
}

// RFC 7239 section 6.3: `_` and letters, digits, `.`, `_`, `-`.
bool is_obfuscated(std::string_view text) {
  return text.size() > 1 && text.front() == '_' && std::ranges::all_of(text, [](char c) {
           const char lower = lower_ascii(c);
           return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

// "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:80"; and where brackets may be left
// out, "2001:db8::1".
std::optional<ClientAddress> parse_node(std::string_view text, bool needs_brackets) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
  } else if (needs_brackets && text.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  auto address = ClientAddress::parse(host);
  if (!address || port.empty()) return address;
  const auto number = parse_port(port.substr(1));
  const bool is_port = port.front() == ':' && (number || is_obfuscated(port.substr(1)));
  if (!is_port) return std::nullopt;
  address->port = number.value_or(0);
  return address;
}

// A token or a quoted string, without its quotes. Nothing: it is neither.
std::optional<std::string> unquote(std::string_view text) {
  if (!text.starts_with('"')) {
    if (!is_token(text)) return std::nullopt;
    return std::string(text);
  }
  if (text.size() < 2 || !text.ends_with('"')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return std::nullopt;
    if (text[i] == '\\') ++i;
    if (i == text.size()) return std::nullopt;
    out += text[i];
  }
  return out;
}

// Nothing: the proxy says something else, which does not matter.
std::optional<bool> secure_scheme(std::string_view scheme) {
  if (equals_ignoring_case(scheme, "https")) return true;
  if (equals_ignoring_case(scheme, "http")) return false;
  return std::nullopt;
}

// An element of Forwarded (RFC 7239 section 4): pairs of a token and a value.
std::optional<Hop> parse_element(std::string_view element) {
  Hop hop;
  bool is_good = true;
  bool has_for = false;
  bool has_proto = false;
  for_each_element(element, ';', [&](std::string_view pair) {
    if (pair.empty()) return;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = pair.substr(0, equals);
    const auto value = equals == pair.size() ? std::nullopt : unquote(pair.substr(equals + 1));
    if (!is_token(name) || !value) {
      is_good = false;
    } else if (equals_ignoring_case(name, "for")) {
      is_good = is_good && !std::exchange(has_for, true);
      if (equals_ignoring_case(*value, "unknown") || is_obfuscated(*value)) return;
      const auto address = parse_node(*value, true);
      is_good = is_good && address.has_value();
      hop.address = address.value_or(ClientAddress());
    } else if (equals_ignoring_case(name, "proto")) {
      is_good = is_good && !std::exchange(has_proto, true);
      hop.is_secure = secure_scheme(*value);
    }
  });
  return is_good ? std::optional(hop) : std::nullopt;
}

// Whether the quote at `at` is none, but a character of a quoted string.
bool is_escaped(std::string_view text, size_t at) {
  size_t backslashes = 0;
  while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

// Takes the last element away, and gives it. Read from the end, as a quote that the client has left
// open must not swallow what a proxy has written behind it.
std::string_view take_last_element(std::string_view& list, bool has_quotes) {
  bool quoted = false;
  size_t begin = list.size();
  for (; begin > 0 && (quoted || list[begin - 1] != ','); --begin) {
    if (has_quotes && list[begin - 1] == '"' && !is_escaped(list, begin - 1)) quoted = !quoted;
  }
  const std::string_view element = trim(list.substr(begin));
  list = list.substr(0, begin > 0 ? begin - 1 : 0);
  return element;
}

// Calls visit(element) for the elements of all fields of this name, the last one first, until it
// returns false. Only Forwarded has quoted strings, in which a comma does not separate.
template <class Visitor>
void for_each_from_end(const RequestHead& head, std::string_view name, Visitor&& visit) {
  const bool has_quotes = name == kForwarded;
  const std::span<const HeaderField> fields = head.fields();
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
    if (!equals_ignoring_case(field->name, name)) continue;
    for (std::string_view left = field->value; !left.empty();) {
      const std::string_view element = take_last_element(left, has_quotes);
      if (!element.empty() && !visit(element)) return;
    }
  }
}

bool has_field(const RequestHead& head, std::string_view name) {
  return head.find(name) != nullptr;
}

bool is_trusted(std::span<const ProxySource> trusted, const ClientAddress& address) {
  return std::ranges::any_of(trusted,
                             [&](const ProxySource& source) { return source.contains(address); });
}

// Follows the hops from the nearest one on. Nothing: what it had to read is malformed.
template <class Parse>
std::optional<Provenance> follow(const RequestHead& head, std::string_view name,
                                 const ClientAddress& peer, std::span<const ProxySource> trusted,
                                 Parse&& parse) {
  Provenance found{peer, {}};
  bool is_good = true;
  size_t hops = 0;
  for_each_from_end(head, name, [&](std::string_view element) {
    const std::optional<Hop> hop = parse(element);
    is_good = hop.has_value() && ++hops <= kMaxHops;
    if (!is_good || hop->address.is_none()) return false;  // the elements before it are lost
    found = {hop->address, hop->is_secure};
    return is_trusted(trusted, hop->address);
  });
  return is_good ? std::optional(found) : std::nullopt;
}

// X-Forwarded-Proto says it once, for the connection of the client.
std::optional<bool> forwarded_proto(const RequestHead& head) {
  std::optional<bool> is_secure;
  size_t count = 0;
  for_each_from_end(head, "x-forwarded-proto", [&](std::string_view element) {
    is_secure = secure_scheme(element);
    return ++count < 2;
  });
  return count == 1 ? is_secure : std::nullopt;
}

std::optional<Provenance> by_forwarded_for(const RequestHead& head, const ClientAddress& peer,
                                           std::span<const ProxySource> trusted) {
  auto found = follow(head, "x-forwarded-for", peer, trusted, [](std::string_view element) {
    const auto address = parse_node(element, false);
    return address ? std::optional(Hop{*address, {}}) : std::nullopt;
  });
  if (found) found->is_secure = forwarded_proto(head);
  return found;
}

}  // namespace

Provenance provenance(const RequestHead& head, const ClientAddress& peer,
                      std::span<const ProxySource> trusted) {
  const Provenance nothing_believed{peer, {}};
  if (trusted.empty() || !is_trusted(trusted, peer)) return nothing_believed;
  const bool has_standard = has_field(head, kForwarded);
  const bool has_customary =
      has_field(head, "x-forwarded-for") || has_field(head, "x-forwarded-proto");
  if (!has_standard && !has_customary) return nothing_believed;
  const auto standard = follow(head, kForwarded, peer, trusted, parse_element);
  const auto customary = by_forwarded_for(head, peer, trusted);
  if (!has_standard) return customary.value_or(nothing_believed);
  if (!has_customary) return standard.value_or(nothing_believed);
  const bool agree =
      standard && customary && standard->client.without_port() == customary->client.without_port();
  return agree ? *standard : nothing_believed;
}

}  // namespace stdgate::http
