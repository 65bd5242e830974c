// Server: the HTTP/1.1 server of one router: its listeners and connections, also after an upgrade
// to another protocol.
//
// Owner: the worker (the server of clients) and the process (the server of the admin pages). All
// its arguments outlive it. After its end the loop must make one more turn, which destroys the
// connections. Limits: limits.connections (a further one gets 503), connections_per_address of one
// client (a further one gets 429). Memory of connections is charged to their clients' accounts.
// When memory is short, bodies are refused; when answers have used it up, the connections whose
// clients have neither sent nor taken anything for the longest time are cut. Before either, memory
// that no client waits for is dropped (Relief).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/base/account.h"
#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/policy/accounts.h"
#include "gateway/policy/overload.h"
#include "gateway/policy/quotas.h"
#include "transports/http/client_connection.h"
#include "transports/http/request_log.h"
#include "transports/http/request_routing.h"
#include "transports/http/response.h"
#include "transports/http/router.h"
#include "transports/net/listener.h"
#include "transports/net/stream.h"

namespace stdgate::tls {
class TlsLayer;
}

namespace stdgate::http {

struct HttpServices {
  net::Loop& loop;
  Log& log;
  Observer& observer;  // of connections and bytes
  session::Callers& callers;
  backend::Upstreams& backends;
  const config::LimitsConfig& limits;
  const config::TimeoutsConfig& timeouts;
  policy::Accounts& accounts;                                 // of this server alone
  Audit* audit = nullptr;                                     // null: none
  const policy::Overload* overload = nullptr;                 // null: never
  const std::vector<ProxySource>* trusted_proxies = nullptr;  // null: none
  policy::Relief* relief = nullptr;                           // null: nothing can be given up

  [[nodiscard]] std::span<const ProxySource> proxies() const {
    return trusted_proxies == nullptr ? std::span<const ProxySource>()
                                      : std::span(*trusted_proxies);
  }
};

// A client when it has connected.
struct AcceptedClient {
  ConnectionTraits traits;
  ClientAddress address;
};

// The traits of a listener.
struct ListenerTraits {
  tls::TlsLayer* tls = nullptr;  // of its connections; null: they are plain
  bool anonymous = true;         // its clients need not say who they are
};

class Http1Connection;
class SpareExchanges;

class Server final : private net::ListenerEvents, private AccountEvents, private net::Flushable {
 public:
  Server(const HttpServices& services, const Router& router);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves one more address. Gives it as bound, or says what is wrong. `passed`: see Listener.
  tl::expected<Address, std::string> listen(const Address& address,
                                            const ListenerTraits& traits = {},
                                            net::FileDescriptor passed = {});

  // Closes the listener that is bound there. Requests that its clients have sent are answered; then
  // their connections end, after timeouts.drain the busy ones too. `on_left` is called once when
  // the last of these connections has ended, possibly at once, but not by the destructor; they are
  // destroyed with the turn.
  void close_listener(const Address& bound, std::function<void()> on_left = nullptr);
  // The next connections of the listener get these traits. Its present ones end as with
  // close_listener().
  void change_listener(const Address& bound, const ListenerTraits& traits,
                       std::function<void()> on_left = nullptr);
  // Accepts no more but what waits to be accepted. Open connections are served as before, but for
  // the `Connection: close` of their next answer, after which they are closed.
  void stop_accepting();
  // Whether a connection has a request that the core does not know yet.
  [[nodiscard]] bool has_requests() const;
  // Stops accepting, and closes what is idle. `on_gone`, which may not destroy the server, is
  // called once when the last connection is gone, possibly at once.
  void drain(std::function<void()> on_gone);
  // Closes all connections at once; their calls are cancelled.
  void close_all();
  // Serves a client on `stream`, which is unread, as one that a listener accepted.
  void serve(std::unique_ptr<net::Stream> stream, const AcceptedClient& client);
  [[nodiscard]] size_t connections() const { return connections_.size(); }
  // Reports all bytes written so far to the observer; otherwise long answers are reported late.
  void report_written();
  // Services for connections.
  HttpServices& services() { return services_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] const RequestRouting& routing() const { return routing_; }
  // Each connection takes but one more request.
  [[nodiscard]] bool stopping() const { return stopping_; }
  // A connection ends with its answer.
  [[nodiscard]] bool ends_connections() const {
    return stopping_ || (services_.overload != nullptr && services_.overload->ends_connections());
  }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::string_view date() { return date_.at(services_.loop.now()); }
  RequestLog& request_log() { return request_log_; }
  [[nodiscard]] const std::shared_ptr<SpareExchanges>& spare_exchanges() const { return spares_; }
  // A client is about to be refused or cut: memory without a waiting client goes first. Called from
  // the outermost level of the loop only.
  void relieve();
  // The services' limits have changed.
  void note_limits() {
    const config::LimitsConfig& limits = services_.limits;
    clients_.set_limits(limits.connections_per_address, limits.unlimited_addresses);
  }
  // Ends what lasts of clients whose credentials are not good any more.
  void end_credentials(const std::function<bool(const policy::Principal&)>& is_good);
  // Logs that `connection` is closed, as its client reads less than limits.min_rate.
  void log_slow(const ClientConnection& connection, size_t unsent);
  void resume_later(ClientConnection& connection);
  void remove(ClientConnection& connection);
  // `successor` takes the place of `connection`, which is gone.
  void replace(ClientConnection& connection, std::unique_ptr<ClientConnection> successor);

 private:
  // Connections beyond the limit that are answered with a refusal at a time.
  static constexpr size_t kMaxTurnedAway = 64;
  // Pause before the next attempt to make room, or at relief, after one that found nothing.
  static constexpr Duration kRoomPause = std::chrono::milliseconds(10);
  // The time from the end of a listener to the end of its idle connections, which may have sent
  // something.
  static constexpr Duration kLastRequests = std::chrono::milliseconds(250);

  struct Listening {
    std::unique_ptr<net::Listener> listener;
    ListenerTraits traits;
    uint32_t number = 0;  // which no other one has had
  };

  // The connections of a listener that was closed or changed.
  struct Leaving {
    size_t connections = 0;
    std::function<void()> on_left;
  };

  [[nodiscard]] std::vector<Listening>::iterator listening_at(const Address& bound);
  void let_leave(uint32_t listener, std::function<void()> on_left);
  void note_left(uint32_t listener);
  void end_leaving();
  void on_connection(net::Listener& listener) override;
  void on_accept_error(int error) override;
  void on_account_over() override;
  void flush() override;  // resumes the connections that asked for it
  std::unique_ptr<Http1Connection> make_connection(const AcceptedClient& client);
  void admit(std::unique_ptr<Http1Connection> connection, std::unique_ptr<net::Stream> stream);
  void open(std::unique_ptr<Http1Connection> connection, std::unique_ptr<net::Stream> stream);
  void turn_away(std::unique_ptr<Http1Connection> connection, std::unique_ptr<net::Stream> stream,
                 const HttpError& error);
  void make_room();
  void log_cut(bool is_of_all, size_t count, size_t bytes);
  void forget_resume(ClientConnection& connection);

  HttpServices services_;
  const Router& router_;
  const RequestRouting routing_;
  DateHeader date_;
  const std::shared_ptr<SpareExchanges> spares_;
  std::vector<Listening> listeners_;
  uint32_t last_listener_ = 0;
  std::map<uint32_t, Leaving> leaving_;                         // by the listener's former number
  std::vector<std::unique_ptr<ClientConnection>> connections_;  // each knows its place
  std::vector<ClientConnection*> to_resume_;
  std::vector<ClientConnection*> resuming_;
  std::function<void()> on_gone_;
  RateLimit accept_errors_{1};  // log lines
  RequestLog request_log_;
  RateLimit turned_away_lines_{1};
  RateLimit cuts_{1};
  RateLimit slow_{1};
  Timer room_timer_;
  Timer leave_timer_;
  TimePoint left_at_{};  // when the last listener was closed
  TimePoint room_after_{};
  TimePoint relief_after_{};
  policy::ClientCounts clients_;
  uint64_t accepted_ = 0;
  size_t turned_away_ = 0;  // of connections_
  bool stopping_ = false;
  bool draining_ = false;
};

}  // namespace stdgate::http
