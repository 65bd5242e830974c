// Handshakes: the TLS handshakes that are under way on a worker.
//
// A handshake costs memory and a signature. So at most `limit` (limits.handshakes) are under way at
// a time, from the first whole record of a client to the end of its handshake, and of one client
// (its address, IPv6: its /64 network) a quarter of them; further ones wait, in the order in which
// they came, and none longer than timeouts.handshake. Owner: the worker; outlives the streams' use
// of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/base/client_address.h"

namespace stdgate::tls {

class Handshakes {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Its handshake is under way. Called within end() of another one: only asks to be flushed.
    virtual void on_handshake_turn() = 0;
  };

  // `unlimited`: addresses that may have all of them, as of a proxy in front.
  explicit Handshakes(size_t limit, std::vector<AddressBlock> unlimited = {})
      : limit_(limit), share_(std::max<size_t>(1, limit / 4)), unlimited_(std::move(unlimited)) {}
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // Whether its handshake is under way now; otherwise on_handshake_turn() follows.
  bool begin(Waiter& waiter, const ClientAddress& client);
  // Of a handshake of this client that is under way: it is over.
  void end(const ClientAddress& client);
  // Of one that waits.
  void leave(const Waiter& waiter);

  [[nodiscard]] size_t under_way() const { return under_way_; }
  [[nodiscard]] size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Waiter* waiter;
    ClientAddress client;  // as it is counted
  };

  // Its key(); none if its handshakes are not counted: those of `unlimited`, and of clients without
  // an address.
  [[nodiscard]] ClientAddress counted(const ClientAddress& client) const;
  [[nodiscard]] bool has_share(const ClientAddress& client) const;
  void count(const ClientAddress& client);

  const size_t limit_;
  const size_t share_;
  const std::vector<AddressBlock> unlimited_;
  size_t under_way_ = 0;
  std::unordered_map<ClientAddress, size_t, ClientAddressHash> of_clients_;  // by key(); none is 0
  std::deque<Waiting> waiting_;
};

}  // namespace stdgate::tls
