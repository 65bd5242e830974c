// TlsListeners: the TLS of all listeners of a worker, those of the admin pages included.
//
// Job: turn the `tls` sections of the configuration into layers for the servers, and say what is
// known of them. Owner: the worker; outlives its servers. Limits: limits.handshakes, over all of
// them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/config_findings.h"
#include "gateway/config/config.h"
#include "transports/tls/handshakes.h"
#include "transports/tls/tls_layer.h"

namespace stdgate::app {

class TlsListeners {
 public:
  // `config`: the one in use, which may change and outlives it. `audit`: null where there is none.
  TlsListeners(net::Loop& loop, Log& log, Observer& observer, const WallClock& wall_clock,
               const config::Config& config, Audit* audit)
      : handshakes_(config.limits.handshakes, config.limits.unlimited_addresses),
        services_{loop, log, observer, wall_clock, handshakes_, config.timeouts.handshake, audit} {}

  // For handshakes that begin.
  void set_limits(const config::LimitsConfig& limits) {
    handshakes_.set_limits(limits.handshakes, limits.unlimited_addresses);
  }

  // The layer of the listener at `address`; the error names the key of `tls` and the file.
  tl::expected<net::StreamLayer*, std::string> open(const std::string& address,
                                                    const config::TlsConfig& tls);

  // One of them gets no new connections.
  void retire(const net::StreamLayer& layer);
  // Destroys one, retired or not, that no connection uses.
  void close(const net::StreamLayer& layer);

  // Those that are not retired.
  [[nodiscard]] const std::vector<std::unique_ptr<tls::TlsLayer>>& all() const { return layers_; }
  [[nodiscard]] const tls::Handshakes& handshakes() const { return handshakes_; }

 private:
  tls::Handshakes handshakes_;
  const tls::TlsLayerServices services_;
  std::vector<std::unique_ptr<tls::TlsLayer>> layers_;
  std::vector<std::unique_ptr<tls::TlsLayer>> retired_;
};

// What is wrong with the files of certificates and keys, by the path of the key that names them.
struct TlsFindings {
  Findings errors;    // they cannot be used
  Findings warnings;  // out of date at `now`
};
TlsFindings check_tls(const config::Config& config, std::chrono::sys_seconds now);

}  // namespace stdgate::app
