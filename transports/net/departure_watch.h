// DepartureWatch: notices that the other end of a pipe or socket has gone while its bytes are not
// read.
//
// Watches a duplicate, as the loop can watch each descriptor for one owner only. Owner: the reader
// of the descriptor. A descriptor that cannot be watched is never said to have been left.
#pragma once

#include <functional>

#include "transports/net/loop.h"

namespace stdgate::net {

class DepartureWatch {
 public:
  // `fd` is still its owner's. `on_left` comes from the outermost level of the loop.
  DepartureWatch(Loop& loop, int fd, std::function<void()> on_left);
  ~DepartureWatch();
  DepartureWatch(const DepartureWatch&) = delete;
  DepartureWatch& operator=(const DepartureWatch&) = delete;

  void start();
  void stop();

 private:
  struct Block;  // the libuv handle; frees itself in the close callback

  Loop& loop_;
  const std::function<void()> on_left_;
  Block* block_ = nullptr;  // null: it cannot be watched
};

}  // namespace stdgate::net
