// Authenticator: finds out who a client is by what its request shows.
//
// Contract: called with every request, on the loop's thread; does no I/O and does not call back.
// What it is shown is neither kept nor logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transports/auth/identity.h"
#include "transports/auth/message_signature.h"
#include "transports/net/peer_certificate.h"

namespace stdgate::auth {

// What is asked: its URL is that of the gateway, `public_url`, with the path of the request.
struct Resource {
  std::string_view public_url{};  // empty: not known
  std::string_view path{};

  // Whether a token for `audience` is one for it: for its URL, or for the whole gateway.
  [[nodiscard]] bool is_meant_by(std::string_view audience) const {
    return !public_url.empty() && audience.starts_with(public_url) &&
           (audience.size() == public_url.size() || audience.substr(public_url.size()) == path);
  }
};

// What a request shows of its sender.
struct Credential {
  // A token in Authorization, or a key in X-API-Key, which is never a token.
  enum class Form : uint8_t { bearer, api_key };

  Form form = Form::bearer;
  std::string_view text;
  Resource resource{};
};

struct Judgement {
  enum class Outcome : uint8_t {
    accepted,
    unknown,  // nobody is known by it
    expired,
    undecided,  // it cannot be judged now, perhaps in a second
  };

  Outcome outcome = Outcome::unknown;
  Identity identity{};         // when accepted
  std::string_view problem{};  // when unknown or undecided: a constant, for people; may be empty
  std::string detail{};        // the same for the log alone: what was shown, what is expected
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // By the clock of Identity::expires.
  [[nodiscard]] virtual TimePoint now() const = 0;
  // From 1 on. Another one means that what has been accepted may not be good any more, though it
  // has not expired.
  [[nodiscard]] virtual uint32_t revision() const { return 1; }
  // Nothing: it is no credential of its kind.
  [[nodiscard]] virtual std::optional<Judgement> judge(const Credential& credential) = 0;
  // Whether requests may be signed; else signatures are not looked at.
  [[nodiscard]] virtual bool takes_signatures() const { return false; }
  // The client that has signed a request; once for each request.
  [[nodiscard]] virtual std::optional<Judgement> judge_signature(
      const MessageSignature& /*signature*/) {
    return std::nullopt;
  }
  // The client of a TLS connection; once for each of them.
  [[nodiscard]] virtual std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& /*certificate*/) {
    return std::nullopt;
  }
};

}  // namespace stdgate::auth
