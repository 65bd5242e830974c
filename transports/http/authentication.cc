#include "transports/http/authentication.h"

#include <strings.h>

#include <algorithm>

#include "gateway/base/encodings.h"
#include "transports/http/field_value.h"
#include "transports/http/message_signature.h"

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

using auth::Judgement;

constexpr std::string_view kInvalid = "invalid_token";

// None of them says what was shown.
IdentityError expired() { return {401, "this credential has expired", kInvalid}; }

IdentityError unknown(std::string_view problem) {
  return {401, problem.empty() ? "this credential is not known" : problem, kInvalid};
}

IdentityError malformed(std::string_view why) { return {400, why, "invalid_request"}; }

tl::expected<auth::Identity, IdentityError> identity_of(Judgement judgement) {
  switch (judgement.outcome) {
    case Judgement::Outcome::accepted:
      return std::move(judgement.identity);
    case Judgement::Outcome::expired:
      return tl::unexpected(expired());
    case Judgement::Outcome::undecided:
      return tl::unexpected(IdentityError{503, judgement.problem, {}});
    case Judgement::Outcome::unknown:
      break;
  }
  IdentityError error = unknown(judgement.problem);
  error.detail = std::move(judgement.detail);
  return tl::unexpected(std::move(error));
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

auth::Identity Authentication::identify(const net::Stream& stream) const {
  if (authenticator_ == nullptr) return {};
  const auto certificate = stream.peer_certificate();
  if (!certificate) return {};
  return authenticator_->judge_certificate(*certificate).value_or(Judgement{}).identity;
}

tl::expected<auth::Identity, IdentityError> Authentication::identify(const Sender& sender) const {
  if (authenticator_ == nullptr) return auth::Identity{};
  std::optional<auth::Credential> credential;
  DecodedCredential decoded;
  if (sender.head.has_credentials()) {
    const auto shown = read_credential(sender.head, decoded);
    if (!shown) return tl::unexpected(malformed(shown.error()));
    credential = *shown;
    const bool is_for_path = sender.resource.empty();
    if (credential) {
      credential->resource = {public_url(), is_for_path ? sender.head.path() : sender.resource};
    }
  }
  if (sender.ticket && tickets_ != nullptr) {
    if (credential) return tl::unexpected(malformed("send a credential, or a ticket"));
    return identify_by_ticket(sender);
  }
  if (const auto signer = identify_signer(sender)) {
    if (credential) return tl::unexpected(malformed("send one credential, or a signature"));
    return *signer;
  }
  if (!credential) return identify_without(sender);
  return identity_of(authenticator_->judge(*credential).value_or(Judgement{}));
}

std::optional<tl::expected<auth::Identity, IdentityError>> Authentication::identify_signer(
    const Sender& sender) const {
  const bool is_signed =
      sender.head.find("signature-input") != nullptr || sender.head.find("signature") != nullptr;
  if (!is_signed || !authenticator_->takes_signatures()) return std::nullopt;
  std::string origin = public_url();
  if (origin.empty()) {
    origin.append(sender.traits.is_secure ? "https://" : "http://").append(sender.head.authority());
  }
  const auto read = read_signature(sender.head, origin);
  if (!read) {
    const SignatureError& error = read.error();
    return tl::unexpected(error.is_malformed ? malformed(error.message) : unknown(error.message));
  }
  if (!*read) return std::nullopt;
  return identity_of(authenticator_->judge_signature(**read).value_or(Judgement{}));
}

tl::expected<void, IdentityError> Authentication::check_body(const RequestHead& head,
                                                             const auth::Identity& sender,
                                                             std::span<const char> body) {
  const bool is_signed = sender.principal != nullptr && !sender.is_for_once &&
                         sender.principal->kind == policy::Principal::Kind::signature;
  if (!is_signed || is_digest_right(head, body)) return {};
  return tl::unexpected(unknown("the body is not the one that was signed"));
}

std::string Authentication::joined(const std::vector<std::string>& scopes) {
  std::string text;
  for (const std::string& scope : scopes) text.append(text.empty() ? "" : " ").append(scope);
  return text;
}

uint32_t Authentication::revision_of(const auth::Identity& identity) const {
  const policy::Principal* const principal = identity.principal.get();
  const bool holds = principal != nullptr && !identity.is_for_once &&
                     principal->kind != policy::Principal::Kind::signature;
  return holds ? revision() : 0;
}

tl::expected<auth::Identity, IdentityError> Authentication::identify_by_ticket(
    const Sender& sender) const {
  auto identity = tickets_->redeem(*sender.ticket, sender.head.path());
  if (identity) return *std::move(identity);
  return tl::unexpected(unknown("this ticket is not valid for this path, or not valid any more"));
}

tl::expected<auth::Identity, IdentityError> Authentication::identify_without(
    const Sender& sender) const {
  if (sender.connection.principal != nullptr) {
    if (authenticator_->now() >= sender.connection.expires) return tl::unexpected(expired());
    return sender.connection;
  }
  if (sender.traits.anonymous) return auth::Identity{};
  return tl::unexpected(IdentityError{401, announcement_.how, {}});
}

bool Authentication::is_operator(const policy::Principal* sender) const {
  return sender != nullptr && std::ranges::any_of(operator_roles_, [&](const std::string& role) {
           return sender->has_role(role);
         });
}

std::string challenge_field(const IdentityError& error, std::string_view scope,
                            std::string_view metadata_url) {
  std::string field = "WWW-Authenticate: Bearer";
  auto add = [&field, is_first = true](std::string_view name, std::string_view value) mutable {
    if (value.empty()) return;
    field.append(std::exchange(is_first, false) ? " " : ", ").append(name);
    field.append("=\"").append(value).append("\"");
  };
  add("error", error.code);
  if (!error.code.empty()) add("error_description", error.message);
  add("scope", scope);
  add("resource_metadata", metadata_url);
  return field += "\r\n";
}

}  // namespace stdgate::http
