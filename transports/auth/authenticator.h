// Authenticator: finds out who a client is by what its request shows.
//
// Contract: called with every request, on the loop's thread; does no I/O and does not call back.
// What it is shown is neither kept nor logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "transports/auth/identity.h"
#include "transports/net/peer_certificate.h"

namespace stdgate::auth {

// What a request shows of its sender.
struct Credential {
  // A token in Authorization, or a key in X-API-Key, which is never a token.
  enum class Form : uint8_t { bearer, api_key };

  Form form = Form::bearer;
  std::string_view text;
};

struct Judgement {
  enum class Outcome : uint8_t {
    accepted,
    unknown,  // nobody is known by it
    expired,
  };

  Outcome outcome = Outcome::unknown;
  Identity identity{};         // when accepted
  std::string_view problem{};  // when unknown: a constant, for people; may be empty
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // By the clock of Identity::expires.
  [[nodiscard]] virtual TimePoint now() const = 0;
  // Nothing: it is no credential of its kind.
  [[nodiscard]] virtual std::optional<Judgement> judge(const Credential& credential) = 0;
  // The client of a TLS connection; once for each of them.
  [[nodiscard]] virtual std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& /*certificate*/) {
    return std::nullopt;
  }
};

}  // namespace stdgate::auth
