// Handshakes: the TLS handshakes that are under way on a worker. And the outcome of one: the
// certificate that the client has shown, or why it has failed.
//
// A handshake costs memory and a signature. So at most `limit` (limits.handshakes) are under way at
// a time, from the first whole record of a client to the end of its handshake. One client (its
// address; for IPv6 its /64 network) has a quarter of them at most. Further handshakes wait, in the
// order of their arrival, and no longer than timeouts.handshake. Owner: the worker; it outlives its
// users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/base/addresses.h"
#include "gateway/observer.h"
#include "transports/net/peer_certificate.h"

struct ssl_st;  // OpenSSL's SSL

namespace stdgate::tls {

class Handshakes {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Its handshake is under way. Called within end() of another one: only asks to be flushed.
    virtual void on_handshake_turn() = 0;

   private:
    friend class Handshakes;
    uint64_t ticket_ = 0;  // while it waits
  };

  // `unlimited`: addresses that may have all of them, as of a proxy in front.
  explicit Handshakes(size_t limit, std::vector<AddressBlock> unlimited = {})
      : limit_(limit), share_(std::max<size_t>(1, limit / 4)), unlimited_(std::move(unlimited)) {}
  // Takes effect with the next one.
  void set_limits(size_t limit, std::vector<AddressBlock> unlimited) {
    limit_ = limit;
    share_ = std::max<size_t>(1, limit / 4);
    unlimited_ = std::move(unlimited);
  }
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // Whether its handshake is under way now; otherwise on_handshake_turn() follows.
  bool begin(Waiter& waiter, const ClientAddress& client);
  // A handshake of this client that was under way is over.
  void end(const ClientAddress& client);
  // A handshake of this client that waits is given up.
  void leave(const Waiter& waiter, const ClientAddress& client);

  [[nodiscard]] size_t under_way() const { return under_way_; }
  [[nodiscard]] size_t waiting() const { return waiting_; }

 private:
  struct Client {
    size_t under_way = 0;
    std::map<uint64_t, Waiter*> waiting;  // by ticket, so in the order of arrival
    uint64_t next = 0;                    // its ticket in next_; 0: none
    bool is_unlimited = false;            // by the last one that began
  };

  // The client's key(); none without an address, as such handshakes are not counted.
  static ClientAddress counted(const ClientAddress& client);
  [[nodiscard]] bool is_unlimited(const ClientAddress& client) const;
  [[nodiscard]] bool has_share(const Client& client) const {
    return client.is_unlimited || client.under_way < share_;
  }
  // Begins a handshake that waits and may begin.
  void begin_next();
  void count(Client& client) {
    ++client.under_way;
    ++under_way_;
  }
  // Updates next_, and erases the client if it has no handshakes. To be called after each change of
  // a client.
  void settle(const ClientAddress& key, Client& client);

  size_t limit_;
  size_t share_;
  std::vector<AddressBlock> unlimited_;
  size_t under_way_ = 0;
  size_t waiting_ = 0;
  uint64_t tickets_ = 0;
  // By counted(). Each client has at least one handshake under way or waiting.
  std::unordered_map<ClientAddress, Client, ClientAddressHash> clients_;
  // The first ticket of each client that waits and has some of its share left: a client whose share
  // is used up is not looked at, however many of its handshakes wait.
  std::map<uint64_t, ClientAddress> next_;
};

// HandshakeError: why a handshake has failed, as OpenSSL says it. The only place that knows its
// codes of reasons.
struct HandshakeError {
  HandshakeFailure reason = HandshakeFailure::other;
  std::string detail;  // OpenSSL's words
};

// The error of the call on `ssl` that has just failed. Empties this thread's queue of errors.
HandshakeError take_handshake_error(const ssl_st& ssl);

// The certificate that the client has shown, after the handshake. Nothing: none, or one that has
// not been verified.
std::optional<net::PeerCertificate> client_certificate_of(const ssl_st& ssl);

}  // namespace stdgate::tls
