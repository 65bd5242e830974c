#include "gateway/app/listeners.h"

#include <algorithm>
#include <string_view>
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

// `key`: of the configuration, and of the command line with "--", that has the address.
std::string with_way_out(std::string problem, std::string_view key) {
  if (!problem.ends_with("already in use")) return problem;
  problem.append("; --").append(key).append(", or ").append(key);
  return problem.append(" in the configuration, names another one");
}

}  // namespace

tl::expected<tls::TlsLayer*, std::string> TlsListeners::open(const std::string& address,
                                                             const config::TlsConfig& tls) {
  auto layer = tls::TlsLayer::open(services_, address, tls);
  if (!layer) {
    return tl::unexpected(address + ": tls." + layer.error().key + ": " + layer.error().message);
  }
  return layers_.emplace_back(*std::move(layer)).get();
}

void TlsListeners::retire(const tls::TlsLayer& layer) {
  const auto place = std::ranges::find(layers_, &layer, [](const auto& one) { return one.get(); });
  (*place)->retire();
  retired_.push_back(std::move(*place));
  layers_.erase(place);
}

void TlsListeners::close(const tls::TlsLayer& layer) {
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

Listeners::Listeners(const Services& services)
    : services_(services), drop_timer_(services.timers, [this] { drop_unused_layers(); }) {}

tl::expected<void, std::string> Listeners::open(const config::Config& config) {
  for (size_t i = 0; i < config.listen.size(); ++i) {
    auto client = opened(described(config, i));
    if (!client) return tl::unexpected(std::move(client.error()));
    clients_.push_back(*std::move(client));
  }
  if (!config.admin.address.empty()) {
    Client admin;
    admin.text = config.admin.address;
    admin.tls = config.admin.tls;
    if (auto layer = open_layer(admin); !layer) return layer;
    auto bound = Address::parse(admin.text).and_then([&](const Address& wanted) {
      return services_.admin.listen(wanted, {admin.layer}, services_.sockets.find(wanted));
    });
    if (!bound) return tl::unexpected(with_way_out(std::move(bound.error()), "admin"));
    admin_ = {*std::move(bound), admin.layer != nullptr};
  }
  const std::string unused = services_.sockets.unused();
  if (unused.empty()) return {};
  return tl::unexpected(
      unused + ": systemd passed this socket on, but neither listen nor admin has its address");
}

tl::expected<void, std::string> Listeners::open_layer(Client& client) {
  if (!client.tls.is_used()) return {};
  auto layer = services_.tls.open(client.text, client.tls);
  if (!layer) return tl::unexpected(std::move(layer.error()));
  client.layer = *layer;
  return {};
}

Listeners::Client Listeners::described(const config::Config& config, size_t index) {
  const config::ListenerConfig& listener = config.listen[index];
  Client client;
  client.text = listener.address;
  client.nth = static_cast<size_t>(
      std::count_if(config.listen.begin(), config.listen.begin() + static_cast<ptrdiff_t>(index),
                    [&](const auto& other) { return other.address == listener.address; }));
  if (const config::TlsConfig* const tls = config.tls_of(listener)) client.tls = *tls;
  client.anonymous = config.is_anonymous(listener);
  return client;
}

const Listeners::Client* Listeners::find(const std::vector<Client>& clients, const Client& like) {
  const auto found = std::ranges::find_if(clients, [&like](const Client& client) {
    return client.text == like.text && client.nth == like.nth;
  });
  return found == clients.end() ? nullptr : &*found;
}

tl::expected<Listeners::Client, std::string> Listeners::opened(Client client) {
  if (auto layer = open_layer(client); !layer) return tl::unexpected(std::move(layer.error()));
  auto bound = Address::parse(client.text).and_then([&](const Address& wanted) {
    return services_.clients.listen(wanted, client.traits(), services_.sockets.find(wanted));
  });
  if (!bound) {
    if (client.layer != nullptr) services_.tls.close(*client.layer);
    return tl::unexpected(with_way_out(std::move(bound.error()), "listen"));
  }
  client.address = *std::move(bound);
  return client;
}

// Keeps the listener and its socket, with another layer if the TLS has changed.
tl::expected<Listeners::Client, std::string> Listeners::changed(Client client,
                                                                const Client& present) {
  client.address = present.address;
  client.layer = present.layer;
  if (client.tls == present.tls) return client;
  client.layer = nullptr;
  if (auto layer = open_layer(client); !layer) return tl::unexpected(std::move(layer.error()));
  return client;
}

tl::expected<void, std::string> Listeners::prepare(const config::Config& wanted) {
  wanted_.clear();
  for (size_t i = 0; i < wanted.listen.size(); ++i) {
    Client next = described(wanted, i);
    const Client* const present = find(clients_, next);
    auto client = present == nullptr ? opened(std::move(next)) : changed(std::move(next), *present);
    if (!client) {
      withdraw();
      return tl::unexpected(std::move(client.error()));
    }
    wanted_.push_back(*std::move(client));
  }
  return {};
}

// Nobody can have connected to what was opened: the loop has not run since.
void Listeners::withdraw() {
  for (const Client& client : wanted_) {
    const Client* const present = find(clients_, client);
    if (present == nullptr) services_.clients.close_listener(client.address);
    if (client.layer != nullptr && (present == nullptr || client.layer != present->layer)) {
      services_.tls.close(*client.layer);
    }
  }
  wanted_.clear();
}

void Listeners::settle() {
  http::Server& server = services_.clients;
  for (const Client& client : clients_) {
    const Client* const next = find(wanted_, client);
    if (next == nullptr) {
      server.close_listener(client.address, retire(client.layer));
      log_one("listener closed", client);
    } else if (next->layer != client.layer || next->anonymous != client.anonymous) {
      const bool is_retired = next->layer != client.layer;
      server.change_listener(client.address, next->traits(),
                             is_retired ? retire(client.layer) : nullptr);
      log_one("listener changed", *next);
    }
  }
  for (const Client& client : wanted_) {
    if (find(clients_, client) == nullptr) log_one("listener opened", client);
  }
  clients_ = std::exchange(wanted_, {});
}

void Listeners::log_one(const char* event, const Client& client) const {
  services_.log.write(LogLevel::info, event,
                      {{"url", http::url_of({client.address, client.layer != nullptr})},
                       {"anonymous", client.anonymous}});
}

std::function<void()> Listeners::retire(const tls::TlsLayer* layer) {
  if (layer == nullptr) return nullptr;
  services_.tls.retire(*layer);
  return [this, layer] {
    unused_.push_back(layer);
    drop_timer_.arm(services_.clock.now() + Duration{1});  // not in this turn
  };
}

void Listeners::drop_unused_layers() {
  for (const tls::TlsLayer* const layer : std::exchange(unused_, {})) services_.tls.close(*layer);
}

http::Listening Listeners::bound() const {
  http::Listening listening;
  listening.clients.reserve(clients_.size());
  for (const Client& client : clients_) {
    listening.clients.push_back({client.address, client.layer != nullptr});
  }
  if (admin_) listening.admin.push_back(*admin_);
  return listening;
}

}  // namespace stdgate::app
