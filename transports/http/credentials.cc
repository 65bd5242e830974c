#include "transports/http/credentials.h"

#include <algorithm>

#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

using auth::Credential;

constexpr std::string_view kScheme = "bearer";

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

// What stands behind the scheme; nothing: it is another scheme.
std::optional<std::string_view> bearer_token(std::string_view value) {
  const size_t end = std::min(value.find(' '), value.size());
  if (!equals_ignoring_case(value.substr(0, end), kScheme)) return std::nullopt;
  return trim(value.substr(end), " ");
}

}  // namespace

tl::expected<std::optional<Credential>, std::string_view> read_credential(const RequestHead& head) {
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

}  // namespace stdgate::http
