// ClientConnection: what a Server owns: one client on one stream, in whatever protocol it has
// switched to. Implemented by Http1Connection and WebSocketConnection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gateway/base/account.h"
#include "gateway/base/byte_queue.h"
#include "gateway/base/client_address.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "gateway/policy/principal.h"
#include "transports/http/request_head.h"
#include "transports/net/stream.h"

namespace stdgate::http {

// The memory of a connection that the client's account pays for.
struct HeldMemory {
  size_t bytes = 0;
  TimePoint still_since{};  // since when the client has neither sent nor read anything
};

// The peer of a connection, and how it came.
struct Peer {
  uint64_t number = 0;  // of the connection, for the log
  ConnectionTraits traits{};
  ClientAddress client{};
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  [[nodiscard]] virtual ConnectionKind kind() const = 0;
  // A request, or a part of one, has come that the core does not know yet.
  [[nodiscard]] virtual bool has_request() const = 0;
  // Ends it as soon as nothing is under way.
  virtual void drain() = 0;
  // At once; calls are cancelled.
  virtual void close() = 0;
  // At once, dropping unsent bytes: the memory is released when this returns.
  virtual void cut() = 0;
  [[nodiscard]] virtual HeldMemory held_memory() const = 0;
  // The account of its client, who pays.
  [[nodiscard]] virtual const Account* account() const = 0;
  // Reports the bytes written since the last report to the observer.
  virtual void report_written() = 0;
  // Follows Server::resume_later(), at the end of the turn.
  virtual void resume() = 0;
  // The principal that uses it; null: unknown, or nothing is under way.
  [[nodiscard]] virtual const policy::Principal* principal() const = 0;
  // Its listener is closed: what has been sent is answered, then it ends. drain() follows.
  virtual void leave() = 0;
  // The credential is not good any more: what lasts ends, as if it had expired.
  virtual void end_credential() = 0;

  // Where the server keeps it.
  void set_place(size_t place) { place_ = place; }
  [[nodiscard]] size_t place() const { return place_; }

  // Its place in the server's list of connections to resume, once it has asked for that.
  void set_resume_place(size_t place) { resume_place_ = static_cast<uint32_t>(place); }
  [[nodiscard]] size_t resume_place() const { return resume_place_; }

  void set_peer(const Peer& peer) { peer_ = peer; }
  [[nodiscard]] const Peer& peer() const { return peer_; }
  [[nodiscard]] const ClientAddress& client() const { return peer_.client; }
  // Whether the server has refused its client.
  void set_turned_away(bool turned_away) { turned_away_ = turned_away; }
  [[nodiscard]] bool is_turned_away() const { return turned_away_; }

 private:
  size_t place_ = 0;
  uint32_t resume_place_ = 0;
  bool turned_away_ = false;
  Peer peer_;
};

// A connection that takes over after an HTTP upgrade.
class UpgradedConnection : public ClientConnection {
 public:
  // Called once, by the server's side, never from within a call of the core. `already_read` is what
  // the client sent behind its request.
  virtual void take_over(std::unique_ptr<net::Stream> stream, ByteQueue already_read) = 0;
};

}  // namespace stdgate::http
