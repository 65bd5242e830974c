// MemoryWatch: tells how much memory children use, once a second: each with all that it has
// started, as process_tree_usage() sums it up. /proc is read on another thread.
//
// Owner: ChildProcesses. Limit: one reading at a time is under way.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "gateway/base/timers.h"
#include "gateway/pool/child_link.h"
#include "transports/net/errands.h"
#include "transports/net/loop.h"

namespace stdgate::stdio {

class MemoryWatch {
 public:
  explicit MemoryWatch(net::Loop& loop);

  // `events` hears of the tree under `guard` from the outermost level of the loop, until forget().
  void watch(pid_t guard, pool::ChildEvents& events);
  void forget(const pool::ChildEvents& events);

 private:
  struct Watched {
    pid_t guard;
    pool::ChildEvents* events;
  };

  void look();

  net::Loop& loop_;
  net::Errands errands_;
  std::map<uint64_t, Watched> watched_;  // by numbers that are not used again
  uint64_t last_ = 0;
  bool is_looking_ = false;
  Timer timer_;
};

}  // namespace stdgate::stdio
