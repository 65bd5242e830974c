#include "transports/http/request_head.h"

#include <algorithm>

#include "gateway/base/addresses.h"
#include "gateway/base/text.h"
#include "transports/http/authentication.h"

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

}  // namespace stdgate::http
