// What the keys of `tls` mean together.
#include "gateway/config/options/tls_rules.h"

#include <string>

namespace stdgate::config {

void complete_tls(const Section& section, TlsConfig& out) {
  const bool both = !section.failed("certificate") && !section.failed("key") &&
                    section.has("certificate") && section.has("key");
  if (both && out.certificate.size() != out.key.size()) {
    section.fail(
        "key", "expected one key for each certificate: " + std::to_string(out.certificate.size()) +
                   ", found " + std::to_string(out.key.size()));
  }
  if (!section.has("client_certificate")) {
    if (!out.client_ca.empty()) out.client_certificate = ClientCertificate::require;
  } else if (out.client_certificate != ClientCertificate::none && out.client_ca.empty()) {
    section.fail("client_certificate", "needs client_ca: who has signed the certificates");
  }
  if (!out.crl.empty() && out.client_ca.empty()) {
    section.fail("crl", "needs client_ca: whose certificates may be revoked");
  }
}

}  // namespace stdgate::config
