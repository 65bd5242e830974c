#include "transports/http/authentication.h"

#include "transports/http/credentials.h"

namespace stdgate::http {

namespace {

using auth::Judgement;

// None of them says what was shown.
constexpr HttpError kNoCredential{
    401,
    "say who calls: Authorization: Bearer KEY, or X-API-Key: KEY",
    {},
    {},
    "WWW-Authenticate: Bearer\r\n"};
constexpr HttpError kUnknown{401,
                             "nobody is known by this credential",
                             {},
                             {},
                             "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"};
constexpr HttpError kExpired{401,
                             "this credential has expired",
                             {},
                             {},
                             "WWW-Authenticate: Bearer error=\"invalid_token\", "
                             "error_description=\"expired\"\r\n"};

HttpError malformed(std::string_view why) {
  return {400, why, {}, {}, "WWW-Authenticate: Bearer error=\"invalid_request\"\r\n"};
}

}  // namespace

auth::Identity Authentication::identify(const net::Stream& stream) const {
  if (authenticator_ == nullptr) return {};
  const auto certificate = stream.peer_certificate();
  if (!certificate) return {};
  return authenticator_->judge(*certificate).value_or(Judgement{}).identity;
}

tl::expected<auth::Identity, HttpError> Authentication::identify(const Sender& sender) const {
  if (authenticator_ == nullptr) return auth::Identity{};
  std::optional<auth::Credential> credential;
  if (sender.head.has_credentials()) {
    const auto shown = read_credential(sender.head);
    if (!shown) return tl::unexpected(malformed(shown.error()));
    credential = *shown;
  }
  if (!credential) return identify_without(sender);
  auto judgement = authenticator_->judge(*credential).value_or(Judgement{});
  switch (judgement.outcome) {
    case Judgement::Outcome::accepted:
      return std::move(judgement.identity);
    case Judgement::Outcome::expired:
      return tl::unexpected(kExpired);
    case Judgement::Outcome::unknown:
      break;
  }
  return tl::unexpected(kUnknown);
}

tl::expected<auth::Identity, HttpError> Authentication::identify_without(
    const Sender& sender) const {
  if (sender.connection.principal != nullptr) {
    if (authenticator_->now() >= sender.connection.expires) return tl::unexpected(kExpired);
    return sender.connection;
  }
  if (sender.traits.anonymous) return auth::Identity{};
  return tl::unexpected(kNoCredential);
}

bool Authentication::is_operator(const Sender& sender) const {
  if (sender.traits.reach != ConnectionTraits::Reach::network) return true;
  const auto identity = identify(sender);
  if (!identity || identity->principal == nullptr) return false;
  return std::ranges::any_of(operator_roles_, [&](const std::string& role) {
    return identity->principal->has_role(role);
  });
}

}  // namespace stdgate::http
