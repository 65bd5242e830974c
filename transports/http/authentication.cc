#include "transports/http/authentication.h"

#include "transports/http/credentials.h"
#include "transports/http/message_signature.h"

namespace stdgate::http {

namespace {

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
