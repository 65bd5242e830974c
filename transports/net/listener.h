// Listener: accepts connections on one address.
//
// Owner: the server that serves them. Unix sockets: a stale socket file (no process accepts there)
// is replaced, a live one is an error; the file is removed at the end. A socket that was passed on
// (systemd.h) stays with who has opened it: connections that wait there at the end, and the
// file, are left to the next process. Limits: a backlog of kBacklog connections; at most
// kMaxAcceptsPerTurn are taken before others get their turn. Without a free descriptor it stops
// accepting for kPause, as trying again at once would spin; waiting connections stay in the
// backlog.
#pragma once

#include <sys/socket.h>
#include <uv.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "gateway/base/addresses.h"
#include "transports/net/byte_stream.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/loop.h"

namespace stdgate::net {

// The address of a client or of a listener, out of the form of a socket (AF_INET or AF_INET6), with
// its port. None for other families.
ClientAddress to_client_address(const sockaddr_storage& address);

// ListenerEvents: the receiver of the connections of a Listener.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // One connection waits: take it with Listener::accept(), or it is closed.
  virtual void on_connection(class Listener& listener) = 0;
  // Accepting failed (libuv's code: UV_EMFILE, UV_ENOMEM, ...) and pauses.
  virtual void on_accept_error(int /*error*/) {}
};

class Listener {
 public:
  // Binds and listens, or says what is wrong ("127.0.0.1:8080: address already in use"). `passed`:
  // a socket that listens there already, which is used instead; closed: none.
  static tl::expected<std::unique_ptr<Listener>, std::string> open(Loop& loop,
                                                                   const Address& address,
                                                                   ListenerEvents& events,
                                                                   FileDescriptor passed = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The address as bound: with the port that the kernel chose.
  [[nodiscard]] const Address& address() const { return address_; }

  // Takes the connection that on_connection() announced, within that call. Null, with the libuv
  // code in `*error`, when it has gone already. TCP connections get TCP_NODELAY.
  std::unique_ptr<ByteStream> accept(StreamEvents& events, int* error);

  // Announces every connection that waits, at once: the end of the listener resets all others,
  // except on a socket that was passed on.
  void take_waiting() {
    if (!was_passed_) announce(kBacklog + 1);
  }

  // Local address of the connection that on_connection() announced, without its port; none on a
  // Unix socket.
  [[nodiscard]] ClientAddress local_address() const;
  // The client, within on_connection(), known even when it has gone; over a Unix socket its user.
  [[nodiscard]] const ClientAddress& peer() const { return peer_; }

  static constexpr int kBacklog = 1024;
  static constexpr int kMaxAcceptsPerTurn = 64;
  static constexpr Duration kPause = std::chrono::milliseconds(100);

 private:
  struct Block;  // the libuv handle; frees itself in the close callback
  Listener(Loop& loop, Address address, ListenerEvents& events, FileDescriptor socket,
           bool was_passed);

  int watch();  // libuv's code
  void on_readable();
  void announce(int max);

  Loop& loop_;
  Address address_;
  ClientAddress bound_;  // TCP, without the port
  ListenerEvents& events_;
  FileDescriptor socket_;
  FileDescriptor waiting_;  // accepted, not taken yet
  ClientAddress peer_;      // of waiting_
  const bool was_passed_;   // others have the socket too
  Timer pause_;
  Block* block_ = nullptr;
  uint64_t file_device_ = 0;  // which file it bound, so that it removes no other
  uint64_t file_inode_ = 0;
};

}  // namespace stdgate::net
