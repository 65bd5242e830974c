// Handshakes: the TLS handshakes that are under way on a worker.
//
// A handshake costs memory and a signature. So at most `limit` (limits.handshakes) are under way at
// a time, from the first byte of a client to the end of its handshake; further ones wait, in the
// order in which they came, and none longer than timeouts.handshake. Owner: the worker; outlives
// the streams' use of it.
#pragma once

#include <cstddef>
#include <deque>

namespace stdgate::tls {

class Handshakes {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Its handshake is under way. Called within end() of another one: only asks to be flushed.
    virtual void on_handshake_turn() = 0;
  };

  explicit Handshakes(size_t limit) : limit_(limit) {}
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // Whether its handshake is under way now; otherwise on_handshake_turn() follows.
  bool begin(Waiter& waiter);
  // Of a handshake that is under way: it is over.
  void end();
  // Of one that waits.
  void leave(const Waiter& waiter);

  [[nodiscard]] size_t under_way() const { return under_way_; }
  [[nodiscard]] size_t waiting() const { return waiting_.size(); }

 private:
  const size_t limit_;
  size_t under_way_ = 0;
  std::deque<Waiter*> waiting_;
};

}  // namespace stdgate::tls
