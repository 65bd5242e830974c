#include "gateway/app/tls_listeners.h"

#include <algorithm>
#include <utility>

namespace stdgate::app {

namespace {

void check(const std::string& path, const config::TlsConfig& tls, std::chrono::sys_seconds now,
           TlsFindings& findings) {
  if (!tls.is_used()) return;
  const auto context = tls::TlsContext::load(tls);
  if (!context) {
    std::string key = path;
    key.append(".").append(context.error().key);
    findings.errors.push_back({0, 0, std::move(key), context.error().message});
    return;
  }
  for (std::string& line : (*context)->warnings(now.time_since_epoch().count())) {
    findings.warnings.push_back({0, 0, path + ".certificate", std::move(line)});
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

void TlsListeners::retire(const net::StreamLayer& layer) {
  const auto place = std::ranges::find(layers_, &layer, [](const auto& one) { return one.get(); });
  (*place)->retire();
  retired_.push_back(std::move(*place));
  layers_.erase(place);
}

void TlsListeners::close(const net::StreamLayer& layer) {
  const auto is_meant = [&layer](const auto& one) { return one.get() == &layer; };
  std::erase_if(layers_, is_meant);
  std::erase_if(retired_, is_meant);
}

TlsFindings check_tls(const config::Config& config, std::chrono::sys_seconds now) {
  TlsFindings findings;
  for (size_t i = 0; i < config.listen.size(); ++i) {
    check("listen[" + std::to_string(i) + "].tls", config.listen[i].tls, now, findings);
  }
  check("admin.tls", config.admin.tls, now, findings);
  check("tls", config.tls, now, findings);
  return findings;
}

}  // namespace stdgate::app
