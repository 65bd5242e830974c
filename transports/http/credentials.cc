#include "transports/http/credentials.h"

#include <strings.h>

#include <algorithm>

#include "gateway/base/base64.h"
#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

using auth::Credential;

constexpr std::string_view kScheme = "bearer";

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

// The text behind the scheme; nothing: it is another scheme.
std::optional<std::string_view> bearer_token(std::string_view value) {
  const size_t end = std::min(value.find(' '), value.size());
  if (!equals_ignoring_case(value.substr(0, end), kScheme)) return std::nullopt;
  return trim(value.substr(end), " ");
}

// Those that a WebSocket's handshake offers among its subprotocols.
size_t read_protocols(const HeaderField& field, DecodedCredential& decoded,
                      std::optional<Credential>& found) {
  size_t count = 0;
  for_each_element(field.value, ',', [&](std::string_view offered) {
    if (!offered.starts_with(kBearerProtocol)) return;
    ++count;
    const std::string_view digits = offered.substr(kBearerProtocol.size());
    decoded.text = decode_base64(digits, Base64Alphabet::url).value_or(std::string());
    found = {Credential::Form::bearer, decoded.text};
  });
  return count;
}

}  // namespace

DecodedCredential::~DecodedCredential() { ::explicit_bzero(text.data(), text.size()); }

tl::expected<std::optional<Credential>, std::string_view> read_credential(
    const RequestHead& head, DecodedCredential& decoded) {
  std::optional<Credential> found;
  size_t authorizations = 0;
  size_t credentials = 0;
  for (const HeaderField& field : head.fields()) {
    if (equals_ignoring_case(field.name, "authorization")) {
      ++authorizations;
      const auto token = bearer_token(field.value);
      if (!token) continue;
      found = {Credential::Form::bearer, *token};
    } else if (equals_ignoring_case(field.name, "x-api-key")) {
      found = {Credential::Form::api_key, field.value};
    } else if (equals_ignoring_case(field.name, "sec-websocket-protocol") &&
               head.find("upgrade") != nullptr) {
      credentials += read_protocols(field, decoded, found);
      continue;
    } else {
      continue;
    }
    ++credentials;
  }
  if (authorizations > 1 || credentials > 1) {
    return tl::unexpected<std::string_view>("send one credential, once");
  }
  if (!found) return std::nullopt;
  if (found->text.empty() || found->text.size() > kMaxCredential ||
      !std::ranges::all_of(found->text, is_visible)) {
    return tl::unexpected<std::string_view>("the credential is malformed");
  }
  return found;
}

std::optional<std::string_view> shown_ticket(std::string_view query) {
  constexpr std::string_view kName = "ticket=";
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with(kName)) return pair.substr(kName.size());
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

}  // namespace stdgate::http
