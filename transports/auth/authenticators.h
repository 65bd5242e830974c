// Authenticators: all of `auth`, asked one after the other.
//
// Owner: the generation.
#pragma once

#include <memory>
#include <vector>

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/clocks.h"

namespace stdgate::auth {

class Authenticators final : public Authenticator {
 public:
  Authenticators(const config::AuthConfig& config, const Clocks& clocks);

  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& credential) override;
  [[nodiscard]] std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& certificate) override;

 private:
  const Clocks clocks_;
  std::vector<std::unique_ptr<Authenticator>> all_;
};

}  // namespace stdgate::auth
