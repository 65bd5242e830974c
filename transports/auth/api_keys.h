// ApiKeys: the keys of `auth.api_keys` and `auth.api_key_file`, known by their hashes.
//
// A key is compared with all of them, each in constant time, so that the time says nothing about
// them. Owner: Authenticators. Limit: config::kMaxApiKeys of the section.
#pragma once

#include <string_view>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/clocks.h"
#include "transports/auth/sha256.h"

namespace stdgate::auth {

class ApiKeys final : public Authenticator {
 public:
  // Name of the principal of `auth.api_key_file`.
  static constexpr std::string_view kFileName = "api-key";

  ApiKeys(const config::AuthConfig& config, const Clocks& clocks);

  // Any text may be a key, so there is always a judgement.
  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& credential) override;

 private:
  struct Key {
    Digest digest{};
    policy::PrincipalRef principal;
  };

  void add(const config::ApiKeyConfig& config);

  const Clocks clocks_;
  Sha256 sha256_;
  std::vector<Key> keys_;
};

}  // namespace stdgate::auth
