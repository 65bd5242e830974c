// StrangerWatch: has the OrphanReaper wait for strangers as they die, so that they leave no
// zombies.
// Owner: the process; one, on any of its loops.
#pragma once

#include <csignal>

#include "gateway/base/timers.h"
#include "transports/net/loop.h"
#include "transports/net/signals.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::stdio {

class StrangerWatch {
 public:
  StrangerWatch(net::Loop& loop, OrphanReaper& orphans)
      : reap_timer_(loop.timers(), [&orphans] { orphans.reap_strangers(); }),
        // In the next turn, when libuv has waited for the guards of this loop.
        signals_(loop, [this, &loop](int) { reap_timer_.arm(loop.now()); }) {
    signals_.watch(SIGCHLD);
    reap_timer_.arm(loop.now());  // what died before
  }

 private:
  Timer reap_timer_;
  net::Signals signals_;
};

}  // namespace stdgate::stdio
