#include "transports/http/http1_exchange.h"

#include <utility>

#include "transports/http/server.h"

namespace stdgate::http {

Http1Exchange::Http1Exchange(Server& server, Codec& codec)
    : request(server.services().loop.storages(), server.services().limits,
              server.services().timeouts),
      exchange(server, codec, request.head()) {}

std::unique_ptr<Http1Exchange> SpareExchanges::take(Server& server, Codec& codec) {
  if (spares_.empty()) return std::make_unique<Http1Exchange>(server, codec);
  std::unique_ptr<Http1Exchange> exchange = std::move(spares_.back());
  spares_.pop_back();
  exchange->exchange.serve_for(codec);
  return exchange;
}

void SpareExchanges::give(std::unique_ptr<Http1Exchange> exchange) {
  if (exchange == nullptr || spares_.size() == kMax) return;
  exchange->successor.reset();  // the client may have gone before it took over
  exchange->exchange.leave();
  exchange->request.leave();
  spares_.push_back(std::move(exchange));
}

}  // namespace stdgate::http
