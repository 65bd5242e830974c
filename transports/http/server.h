// Server: the HTTP/1.1 server of one router: its listeners and connections, those that have gone on
// to another protocol included.
//
// Owner: the composition root (one for clients, one for the admin pages). Everything that it is
// given outlives it; after its end the loop must make one more turn, in which the connections are
// destroyed. Limits: limits.connections (one more is answered 503), limits.buffered over all of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/rate_limit.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "gateway/pool/backend_set.h"
#include "transports/http/connection.h"
#include "transports/http/date_header.h"
#include "transports/http/router.h"
#include "transports/http/spare_exchanges.h"
#include "transports/net/listener.h"

namespace stdgate {

struct HttpServices {
  Loop& loop;
  Log& log;
  Observer& observer;  // of connections and bytes
  Origins& origins;
  BackendSet& backends;
  const LimitsConfig& limits;
  const TimeoutsConfig& timeouts;
};

class Server final : private ListenerEvents, private Flushable {
 public:
  Server(const HttpServices& services, const Router& router);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves one more address: gives it as bound, or says what is wrong.
  tl::expected<Address, std::string> listen(const Address& address);

  // Accepts no more, closes what is idle, tells the others with their answer. `on_gone`, which may
  // not destroy the server, is called once when the last connection is gone, possibly at once.
  void drain(std::function<void()> on_gone);
  // Closes all connections at once; their calls are cancelled.
  void close_all();
  [[nodiscard]] size_t connections() const { return connections_.size(); }

  // For connections.
  HttpServices& services() { return services_; }
  [[nodiscard]] const Router& router() const { return router_; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::string_view date() { return date_.at(services_.loop.now()); }
  SpareExchanges& spare_exchanges() { return spare_; }
  void change_held(size_t from, size_t to) { held_ += to - from; }
  [[nodiscard]] bool holds_too_much() const { return held_ > services_.limits.buffered; }
  void resume_later(ClientConnection& connection);
  void remove(ClientConnection& connection);
  // `successor` takes the place of `connection`, which is gone.
  void replace(ClientConnection& connection, std::unique_ptr<ClientConnection> successor);

 private:
  // Connections beyond the limit that may be in the middle of being told so.
  static constexpr size_t kTurnedAway = 64;

  void on_connection(Listener& listener) override;
  void on_accept_error(int error) override;
  void flush() override;  // resumes the connections that asked for it
  void forget_resume(ClientConnection& connection);

  HttpServices services_;
  const Router& router_;
  DateHeader date_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;  // each knows its place
  SpareExchanges spare_;
  std::vector<ClientConnection*> to_resume_;
  std::vector<ClientConnection*> resuming_;
  std::function<void()> on_gone_;
  RateLimit accept_errors_{1};  // log lines
  uint64_t accepted_ = 0;
  size_t held_ = 0;  // bytes of requests in memory
  bool draining_ = false;
};

}  // namespace stdgate
