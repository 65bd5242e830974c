// ClientConnection: what a Server owns: one client on one stream, whatever protocol it speaks by
// now.
#pragma once

#include <cstddef>
#include <memory>

#include "gateway/base/byte_queue.h"
#include "gateway/observer.h"
#include "transports/net/byte_stream.h"

namespace stdgate {

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  [[nodiscard]] virtual Transport transport() const = 0;
  // Ends it as soon as nothing is under way.
  virtual void drain() = 0;
  // At once; calls are cancelled.
  virtual void close() = 0;
  // What it asked for with Server::resume_later(), at the end of the turn.
  virtual void resume() = 0;

  // Where the server keeps it.
  void set_place(size_t place) { place_ = place; }
  [[nodiscard]] size_t place() const { return place_; }

 private:
  size_t place_ = 0;
};

// One that goes on where HTTP has ended.
class UpgradedConnection : public ClientConnection {
 public:
  // Called once, by the server's side, never from within a call of the core. `already_read` is what
  // the client sent behind its request.
  virtual void take_over(std::unique_ptr<ByteStream> stream, ByteQueue already_read) = 0;
};

}  // namespace stdgate
