// Authentication: finds out who sends a request, with each of them, and words the answers to
// unknown clients (RFC 6750 section 3).
//
// Owner: the AdmissionPolicy; a value.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "transports/auth/authenticator.h"
#include "transports/auth/tickets.h"
#include "transports/http/request_head.h"
#include "transports/net/stream.h"

namespace stdgate::http {

// Bytes of a credential; longer ones are malformed.
inline constexpr size_t kMaxCredential = 16 << 10;

// A page can send no header field with a WebSocket but the subprotocols that it offers, so its
// credential may be one of them, as Kubernetes has it: this and the credential in base64url.
inline constexpr std::string_view kBearerProtocol = "stdgate.bearer.";

// The text of a credential that was shown in base64; overwritten when it goes.
class DecodedCredential {
 public:
  DecodedCredential() = default;
  ~DecodedCredential();
  DecodedCredential(const DecodedCredential&) = delete;
  DecodedCredential& operator=(const DecodedCredential&) = delete;

  std::string text;
};

// The credential in a head (RFC 6750 section 2.1, and X-API-Key); one in the query is none, as it
// ends up in logs and histories. Nothing: none is shown; other schemes than Bearer count as none.
// The error is a sentence for people: the head could be read in more than one way, or not at all.
// `decoded` outlives it.
tl::expected<std::optional<auth::Credential>, std::string_view> read_credential(
    const RequestHead& head, DecodedCredential& decoded);

// The ticket that a request shows in its query; nothing: none. The name is found in this spelling
// only.
std::optional<std::string_view> shown_ticket(std::string_view query);

// The sender of a request, as far as the request shows it.
struct Sender {
  const RequestHead& head;
  const ConnectionTraits& traits;
  const auth::Identity& connection;  // by its certificate
  std::string_view resource{};       // that a credential has to be for; empty: the head's path
  std::optional<std::string_view> ticket{};  // instead of a credential
};

// Why the sender is not known.
struct IdentityError {
  int status = 401;
  std::string_view message;  // for people, without quotes; the gateway's own, constant words
  std::string_view code;     // RFC 6750 section 3.1; empty: no credential was shown
  std::string detail{};      // for the log alone; empty: the message says all
};

// The value of WWW-Authenticate for this error. `scope`: the scopes that a token needs; empty:
// omitted. `metadata_url`: where clients read which issuers give tokens (RFC 9728); empty: none.
std::string challenge_field(const IdentityError& error, std::string_view scope,
                            std::string_view metadata_url);

// The parts of `auth` that clients are told.
struct Announcement {
  std::string public_url = {};            // of the gateway
  std::vector<std::string> issuers = {};  // of the tokens that are taken
  std::vector<std::string> scopes = {};   // that tokens are to be asked with
  std::string how = "say who calls";      // and by what it can be said
};

class Authentication {
 public:
  // Nobody is asked.
  Authentication() = default;
  // `authenticator` and `tickets` outlive it; null: no tickets are taken. `operator_roles`: see
  // is_operator().
  Authentication(auth::Authenticator* authenticator, std::vector<std::string> operator_roles,
                 Announcement announcement = {}, auth::Tickets* tickets = nullptr)
      : authenticator_(authenticator),
        tickets_(tickets),
        operator_roles_(std::move(operator_roles)),
        announcement_(std::move(announcement)),
        scope_(joined(announcement_.scopes)) {}

  [[nodiscard]] bool is_used() const { return authenticator_ != nullptr; }
  // The time on the clock of Identity::expires.
  [[nodiscard]] TimePoint now() const { return authenticator_->now(); }
  // See Authenticator.
  [[nodiscard]] uint32_t revision() const {
    return authenticator_ == nullptr ? 0 : authenticator_->revision();
  }
  // Under which an identity holds for all requests with the same head over the same connection; 0:
  // for none, as a signature is for one request.
  [[nodiscard]] uint32_t revision_of(const auth::Identity& identity) const;
  [[nodiscard]] const std::string& public_url() const { return announcement_.public_url; }
  [[nodiscard]] const Announcement& announcement() const { return announcement_; }
  // RFC 6749 section 3.3.
  [[nodiscard]] const std::string& scope() const { return scope_; }
  // The client of a connection by its certificate; unknown without one.
  [[nodiscard]] auth::Identity identify(const net::Stream& stream) const;
  // The sender of a request, which is anonymous where that suffices. An error says why the request
  // is refused: status 400, 401, or 503 where the answer is not known yet. A credential in the head
  // takes precedence over a certificate, and is judged even where none is needed.
  [[nodiscard]] tl::expected<auth::Identity, IdentityError> identify(const Sender& sender) const;
  // Whether `body` is what its sender has signed, if he has.
  [[nodiscard]] static tl::expected<void, IdentityError> check_body(const RequestHead& head,
                                                                    const auth::Identity& sender,
                                                                    std::span<const char> body);
  // Whether who has one of these roles may see what is for operators from other machines.
  [[nodiscard]] bool is_operator(const policy::Principal* sender) const;

 private:
  static std::string joined(const std::vector<std::string>& scopes);
  [[nodiscard]] tl::expected<auth::Identity, IdentityError> identify_by_ticket(
      const Sender& sender) const;
  [[nodiscard]] tl::expected<auth::Identity, IdentityError> identify_without(
      const Sender& sender) const;
  // Nothing: the request is not signed, or signatures are not looked at.
  [[nodiscard]] std::optional<tl::expected<auth::Identity, IdentityError>> identify_signer(
      const Sender& sender) const;

  auth::Authenticator* authenticator_ = nullptr;
  auth::Tickets* tickets_ = nullptr;
  std::vector<std::string> operator_roles_;
  Announcement announcement_;
  std::string scope_;
};

}  // namespace stdgate::http
