// SpareExchanges: passes the exchanges of connections that have ended, or are still, on to the next
// ones. So clients that open a connection for each request cost little more than others.
//
// Each keeps the head that it parsed last and its judgement, unless that had credentials. Owner:
// the server, and each connection, which may outlive it by a turn of the loop. Limit: kMax are
// kept.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transports/http/client_connection.h"
#include "transports/http/exchange.h"
#include "transports/http/http1_request.h"

namespace stdgate::http {

class Server;

// The parts of a connection that it needs while it is used.
struct Http1Exchange {
  Http1Exchange(Server& server, Codec& codec);

  Http1Request request;
  Exchange exchange;
  std::unique_ptr<UpgradedConnection> successor{};  // null: HTTP goes on
};

class SpareExchanges {
 public:
  static constexpr size_t kMax = 16;

  // The one that was given last, else a new one.
  std::unique_ptr<Http1Exchange> take(Server& server, Codec& codec);
  // One that rests. Called from the outermost level of the loop only.
  void give(std::unique_ptr<Http1Exchange> exchange);
  [[nodiscard]] size_t size() const { return spares_.size(); }

 private:
  std::vector<std::unique_ptr<Http1Exchange>> spares_;
};

}  // namespace stdgate::http
