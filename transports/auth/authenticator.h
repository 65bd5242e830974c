// Authenticator, and the values that it takes and gives: identities, credentials, signatures.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/policy/client.h"
#include "transports/net/peer_certificate.h"

namespace stdgate::auth {

// MessageSignature: what a request says of its own signature (RFC 9421).
//
// A value. The covered components have been checked, and that it has these parameters.
struct MessageSignature {
  std::string key_id;
  std::string algorithm;           // empty: it says none
  int64_t created = 0;             // seconds since 1970
  std::optional<int64_t> expires;  // the same; nothing: it says none
  std::string nonce;
  std::string base;       // what is signed (section 2.5)
  std::string signature;  // decoded
};

// Identity: who sends a request, as its credential says, and until when.
//
// A value; without a principal the client is unknown. The expiry is one of the core's clock, so
// that streams and connections can wait for it.
struct Identity {
  policy::PrincipalRef principal{};      // null: the client is unknown
  TimePoint expires = TimePoint::max();  // max(): never
  bool is_for_once = false;              // by a ticket: of no other request
};

// Clocks: the core's, and the calendar's, which decides when credentials end.
struct Clocks {
  const Clock& clock;
  const WallClock& wall;

  [[nodiscard]] WallTime now() const { return wall.at(clock.now()); }
  // When the core's clock shows what the calendar calls `time`, as far as that is known now.
  [[nodiscard]] TimePoint at(std::chrono::system_clock::time_point time) const;
};

// The target of a request: its URL is the gateway's, `public_url`, with the path of the request.
struct Resource {
  std::string_view public_url{};  // empty: not known
  std::string_view path{};

  // Whether a token for `audience` is one for it: for its URL, or for the whole gateway.
  [[nodiscard]] bool is_meant_by(std::string_view audience) const {
    return !public_url.empty() && audience.starts_with(public_url) &&
           (audience.size() == public_url.size() || audience.substr(public_url.size()) == path);
  }
};

// The credential that a request shows.
struct Credential {
  // A token in Authorization, or a key in X-API-Key, which is never a token.
  enum class Form : uint8_t { bearer, api_key };

  Form form = Form::bearer;
  std::string_view text;
  Resource resource{};
};

// What an authenticator has found out about a credential.
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

// Authenticator: finds out who a client is by what its request shows.
//
// Contract: called with every request, on the loop's thread; does no I/O and does not call back.
// Credentials are neither kept nor logged.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // The time on the clock of Identity::expires.
  [[nodiscard]] virtual TimePoint now() const = 0;
  // Changes when accepted credentials may no longer be valid, although they have not expired. At
  // least 1.
  [[nodiscard]] virtual uint32_t revision() const { return 1; }
  // Nothing: the credential is not of this kind.
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
