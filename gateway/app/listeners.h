// Listeners: where clients connect, as the configuration says, and the admin listener.
//
// Job: open the addresses of a configuration, and go over to those of another one: addresses that
// both have keep their sockets. A listener that is served otherwise from now on, over TLS or by who
// has to say who he is, keeps its socket too; its connections end. Owner: the process. The admin
// listener stays as it was opened.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/app/tls_listeners.h"
#include "gateway/base/log.h"
#include "gateway/base/timers.h"
#include "gateway/config/config.h"
#include "transports/http/banner.h"
#include "transports/http/server.h"
#include "transports/net/passed_sockets.h"

namespace stdgate::app {

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

  // Opens all of them, or says which one cannot be.
  tl::expected<void, std::string> open(const config::Config& config);
  // Opens what `wanted` has beside those that are open; nothing has changed if one cannot be.
  // Else settle() follows within the turn.
  tl::expected<void, std::string> prepare(const config::Config& wanted);
  // Closes and changes the others.
  void settle();

  // As they are bound.
  [[nodiscard]] http::Listening bound() const;

 private:
  struct Client {
    std::string text;       // as configured
    size_t nth = 0;         // of those with this text; there are several where the kernel chooses
    config::TlsConfig tls;  // not used: plain
    bool anonymous = false;
    Address address;  // as bound
    net::StreamLayer* layer = nullptr;

    [[nodiscard]] http::ListenerTraits traits() const { return {layer, anonymous}; }
  };
  // The layer of connections of a listener that is closed, or has another one now.
  struct FormerLayer {
    uint32_t listener;
    const net::StreamLayer* layer;
    bool is_unused = false;  // at the last look
  };

  static constexpr Duration kLook = std::chrono::seconds(1);

  // Not opened.
  static Client described(const config::Config& config, size_t index);
  // Null: there is none in the same place of the configuration.
  static const Client* find(const std::vector<Client>& clients, const Client& like);
  tl::expected<Client, std::string> opened(Client client);
  tl::expected<Client, std::string> changed(Client client, const Client& present);
  tl::expected<void, std::string> open_layer(Client& client);
  void withdraw();
  void forget_layer(uint32_t listener, const net::StreamLayer* layer);
  void drop_unused_layers();
  void log_one(const char* event, const Client& client) const;

  const Services services_;
  std::vector<Client> clients_;
  std::vector<Client> wanted_;  // between prepare() and settle()
  std::optional<http::BoundAddress> admin_;
  std::vector<FormerLayer> former_;
  Timer look_;
};

}  // namespace stdgate::app
