// RequestSignatures: clients sign their requests (RFC 9421) with a key of `auth.signatures`.
//
// A signature is good if three conditions hold. It was made with its key. It was made within
// kWindow of now and not before the gateway started, because nonces of that time are not known. Its
// nonce is new. Nonces are remembered as long as their signatures would be good. Owner:
// Authenticators. Limit: kMaxNonces of a key. When so many are remembered, the key is refused,
// because a forgotten nonce could come again.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/digest.h"

namespace stdgate::auth {

class RequestSignatures final : public Authenticator {
 public:
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr size_t kMaxNonces = 1 << 17;
  static constexpr size_t kMinSecret = 32;  // bytes

  // The keys have been checked; see check_key(). `max_nonces`: for tests.
  RequestSignatures(const std::vector<config::SignatureConfig>& keys, const Clocks& clocks,
                    size_t max_nonces = kMaxNonces);

  // Nonces that have been used before stay used.
  void take_nonces(RequestSignatures& predecessor);
  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& /*credential*/) override {
    return std::nullopt;
  }
  [[nodiscard]] bool takes_signatures() const override { return true; }
  [[nodiscard]] std::optional<Judgement> judge_signature(
      const MessageSignature& signature) override;

 private:
  struct Key {
    std::string id;
    config::SignatureMethod method = config::SignatureMethod::ed25519;
    std::string secret;    // of hmac-sha256
    PublicKey public_key;  // of the others
    policy::PrincipalRef principal;

    [[nodiscard]] bool has_signed(const MessageSignature& signature) const;
  };
  struct Nonce {
    TimePoint until;
    Digest digest{};
    std::string key;
  };

  [[nodiscard]] const Key* find(std::string_view id) const;
  void forget_old_nonces();

  const Clocks clocks_;
  const size_t max_nonces_;
  std::chrono::seconds started_;  // of the calendar
  std::vector<Key> keys_;
  Sha256 sha256_;
  std::unordered_set<Digest, HashDigest> nonces_;
  std::unordered_map<std::string, size_t> counts_;  // of nonces, by key; the key may be gone
  std::deque<Nonce> order_;                         // in the order of their arrival
};

// The mistake in a key; empty: none.
std::string check_key(const config::SignatureConfig& config);

}  // namespace stdgate::auth
