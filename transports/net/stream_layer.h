// StreamLayer: what stands between the sockets of a listener and the connections on them, as TLS
// does.
//
// Owner: whoever opens the listener; outlives the listener and the use of its streams.
#pragma once

#include <memory>

#include "gateway/base/client_address.h"
#include "transports/net/stream.h"

namespace stdgate::net {

class StreamLayer {
 public:
  virtual ~StreamLayer() = default;
  // The stream that a connection sees over `stream`, of which nothing has been read.
  virtual std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> stream,
                                       const ClientAddress& client) = 0;
};

}  // namespace stdgate::net
