#include "transports/stdio/orphan_reaper.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "transports/stdio/process_tree.h"

namespace stdgate {

OrphanReaper::OrphanReaper(Loop& loop)
    : loop_(loop), inherited_(children_of(::getpid())), again_(loop.timers(), [this] { sweep(); }) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void OrphanReaper::sweep() {
  bool is_some_left = false;
  for (const pid_t child : children_of(::getpid())) {
    const bool is_inherited =
        std::find(inherited_.begin(), inherited_.end(), child) != inherited_.end();
    if (is_inherited || guards_->contains(child)) continue;
    ::kill(child, SIGKILL);
    if (::waitpid(child, nullptr, WNOHANG) == child) continue;
    is_some_left = true;
  }
  if (is_some_left) again_.arm(loop_.now() + kAgain);
}

}  // namespace stdgate
