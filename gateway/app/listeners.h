// The listeners of a configuration and their TLS.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/config_findings.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/config/config.h"
#include "transports/http/landing_page.h"
#include "transports/http/server.h"
#include "transports/net/systemd.h"
#include "transports/tls/handshakes.h"
#include "transports/tls/tls_layer.h"

namespace stdgate::app {

// TlsListeners: the TLS of all listeners of a worker, admin pages included.
//
// Job: turn the `tls` sections of the configuration into layers for the servers, and report on
// them. Owner: the worker; outlives its servers. Limits: limits.handshakes, over all of them.
class TlsListeners {
 public:
  // `config`: the one in use, which may change and outlives this. `audit`: null without an audit.
  TlsListeners(net::Loop& loop, Log& log, Observer& observer, const WallClock& wall_clock,
               const config::Config& config, Audit* audit)
      : handshakes_(config.limits.handshakes, config.limits.unlimited_addresses),
        services_{loop, log, observer, wall_clock, handshakes_, config.timeouts.handshake, audit} {}

  // For handshakes that begin later.
  void set_limits(const config::LimitsConfig& limits) {
    handshakes_.set_limits(limits.handshakes, limits.unlimited_addresses);
  }

  // The layer of the listener at `address`; the error names the key of `tls` and the file.
  tl::expected<tls::TlsLayer*, std::string> open(const std::string& address,
                                                 const config::TlsConfig& tls);

  // This layer gets no new connections.
  void retire(const tls::TlsLayer& layer);
  // Destroys a layer that no connection uses, retired or not.
  void close(const tls::TlsLayer& layer);

  // The layers that are not retired.
  [[nodiscard]] const std::vector<std::unique_ptr<tls::TlsLayer>>& all() const { return layers_; }
  [[nodiscard]] const tls::Handshakes& handshakes() const { return handshakes_; }

 private:
  tls::Handshakes handshakes_;
  const tls::TlsLayerServices services_;
  std::vector<std::unique_ptr<tls::TlsLayer>> layers_;
  std::vector<std::unique_ptr<tls::TlsLayer>> retired_;
};

// Mistakes in the files of certificates and keys, by the path of the key that names the file.
struct TlsFindings {
  Findings errors;    // the file cannot be used
  Findings warnings;  // the file is out of date at `now`
};
TlsFindings check_tls(const config::Config& config, std::chrono::sys_seconds now);

// Listeners: where clients connect, as the configuration says, and the admin listener.
//
// Job: open the addresses of a configuration, and change over to another configuration. Addresses
// in both keep their sockets. A listener with another TLS, or another need to authenticate, keeps
// its socket too, but its connections end. Owner: the process. The admin listener stays as it was
// opened.
class Listeners {
 public:
  struct Services {
    const Clock& clock;
    TimerQueue& timers;
    Log& log;
    http::Server& clients;
    http::Server& admin;
    TlsListeners& tls;
    net::PassedSockets& sockets;
  };

  explicit Listeners(const Services& services);

  // Opens all listeners, or says which one cannot be opened.
  tl::expected<void, std::string> open(const config::Config& config);
  // Opens the addresses of `wanted` that are not open yet. If one cannot be opened, nothing
  // changes. Otherwise settle() follows within the turn.
  tl::expected<void, std::string> prepare(const config::Config& wanted);
  // Closes and changes the other listeners.
  void settle();

  // The addresses as they are bound.
  [[nodiscard]] http::Listening bound() const;

 private:
  struct Client {
    std::string text;       // as configured
    size_t nth = 0;         // index among equal texts, which exist where the kernel chooses ports
    config::TlsConfig tls;  // not used: plain
    bool anonymous = false;
    Address address;  // as bound
    tls::TlsLayer* layer = nullptr;

    [[nodiscard]] http::ListenerTraits traits() const { return {layer, anonymous}; }
  };
  // Not opened yet.
  static Client described(const config::Config& config, size_t index);
  // Null: the configuration has no listener in the same place.
  static const Client* find(const std::vector<Client>& clients, const Client& like);
  tl::expected<Client, std::string> opened(Client client);
  tl::expected<Client, std::string> changed(Client client, const Client& present);
  tl::expected<void, std::string> open_layer(Client& client);
  void withdraw();
  // No new connection gets the layer. Returns what to do when the last of its connections has
  // ended.
  std::function<void()> retire(const tls::TlsLayer* layer);
  void drop_unused_layers();
  void log_one(const char* event, const Client& client) const;

  const Services services_;
  std::vector<Client> clients_;
  std::vector<Client> wanted_;  // between prepare() and settle()
  std::optional<http::BoundAddress> admin_;
  std::vector<const tls::TlsLayer*> unused_;  // closed in the next turn, after their connections
  Timer drop_timer_;
};

}  // namespace stdgate::app
