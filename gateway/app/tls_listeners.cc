#include "gateway/app/tls_listeners.h"

#include <utility>

namespace stdgate::app {

namespace {

void check(const std::string& path, const config::TlsConfig& tls, int64_t now,
           TlsFindings& findings) {
  if (!tls.is_used()) return;
  const auto context = tls::TlsContext::load(tls);
  if (!context) {
    findings.errors.push_back(path + "." + context.error().key + ": " + context.error().message);
    return;
  }
  for (const std::string& line : (*context)->warnings(now)) {
    findings.warnings.emplace_back(path).append(": ").append(line);
  }
}

}  // namespace

tl::expected<net::StreamLayer*, std::string> TlsListeners::open(const std::string& address,
                                                                const config::TlsConfig& tls) {
  auto layer = tls::TlsLayer::open(services_, address, tls);
  if (!layer) {
    return tl::unexpected(address + ": tls." + layer.error().key + ": " + layer.error().message);
  }
  return layers_.emplace_back(*std::move(layer)).get();
}

TlsFindings check_tls(const config::Config& config, int64_t now) {
  TlsFindings findings;
  for (size_t i = 0; i < config.listen.size(); ++i) {
    check("listen[" + std::to_string(i) + "].tls", config.listen[i].tls, now, findings);
  }
  check("admin.tls", config.admin.tls, now, findings);
  check("tls", config.tls, now, findings);
  return findings;
}

}  // namespace stdgate::app
