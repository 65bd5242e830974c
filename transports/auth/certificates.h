// Certificates: clients are who their certificate says (`auth.mtls`); that it is trusted has been
// judged by TLS.
//
// Owner: Authenticators. Limit: a certificate with a name beyond kMaxName is that of nobody.
#pragma once

#include "gateway/config/config.h"
#include "transports/auth/authenticator.h"
#include "transports/auth/clocks.h"

namespace stdgate::auth {

class Certificates final : public Authenticator {
 public:
  static constexpr size_t kMaxName = 512;  // bytes; it stands in logs

  Certificates(config::MtlsConfig config, const Clocks& clocks);

  [[nodiscard]] TimePoint now() const override { return clocks_.clock.now(); }
  [[nodiscard]] std::optional<Judgement> judge(const Credential& /*credential*/) override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Judgement> judge_certificate(
      const net::PeerCertificate& certificate) override;

 private:
  const config::MtlsConfig config_;
  const Clocks clocks_;
};

}  // namespace stdgate::auth
