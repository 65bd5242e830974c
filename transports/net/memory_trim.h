// MemoryTrim: gives memory back to the system when much of it has become free.
//
// Clients that take nothing can make the gateway hold hundreds of megabytes, and the allocator
// keeps them when the clients have left: freed blocks lie between those in use. Returning them
// costs the loop some 130 ms for a gigabyte, so it is done when a peak of MemoryAccount::kMuch and
// more has fallen to half, a moment later, and once in kRest at most. Owner: the server,
// which owns the account too.
#pragma once

#include <chrono>

#include "gateway/base/memory_account.h"
#include "gateway/base/timers.h"
#include "transports/net/loop.h"

namespace stdgate::net {

class MemoryTrim {
 public:
  static constexpr Duration kLook = std::chrono::seconds(1);
  static constexpr Duration kRest = std::chrono::seconds(5);

  MemoryTrim(Loop& loop, MemoryAccount& account)
      : loop_(loop), account_(account), timer_(loop.timers(), [this] { look(); }) {}

  // The account holds much: its fall is to be watched.
  void watch() {
    if (!timer_.armed()) timer_.arm(loop_.now() + kLook);
  }

 private:
  void look();

  Loop& loop_;
  MemoryAccount& account_;
  Timer timer_;
};

}  // namespace stdgate::net
