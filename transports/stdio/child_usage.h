// Resources that children use: memory, measured once a second, and CPU time for the metrics.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/timers.h"
#include "gateway/pool/child_link.h"
#include "transports/net/loop.h"
#include "transports/stdio/child_cgroups.h"
#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

// MemoryWatch: measures once a second how much memory each child and its descendants use: by the
// figure of their cgroup, or, without one, as process_tree_usage() sums it up. Another thread
// reads.
//
// Owner: ChildProcesses. Limit: one reading at a time is under way.
class MemoryWatch {
 public:
  MemoryWatch(net::Loop& loop, Log& log, CgroupPlaces places);

  // The directory of a cgroup for a child that is about to be started; empty: there are none here.
  std::string make_cgroup() { return cgroups_.make(); }
  void drop_cgroup(std::string cgroup) { cgroups_.remove(std::move(cgroup)); }
  // `events` hears of the tree under `guard`, which joins `cgroup`, from the outermost level of the
  // loop, until forget().
  void watch(pid_t guard, std::string cgroup, pool::ChildEvents& events);
  void forget(const pool::ChildEvents& events);

 private:
  struct Watched {
    pid_t guard;
    std::string cgroup;  // empty: none
    pool::ChildEvents* events;
  };

  void look();

  net::Loop& loop_;
  net::Errands errands_;
  ChildCgroups cgroups_;
  std::map<uint64_t, Watched> watched_;  // by numbers that are not used again
  uint64_t last_ = 0;
  bool is_looking_ = false;
  Timer timer_;
};

// UsageLedger: what each backend's children use and have used, for the metrics.
//
// Job: CPU time never falls when a child ends: it is moved from the living to the ended.
// Owner: ChildProcesses. Reads /proc when asked, which is with each scrape.
class UsageLedger {
 public:
  void open(std::string_view backend, pid_t guard);
  // The tree under `guard` is gone, or about to go, having used `cpu_seconds`.
  void close(std::string_view backend, pid_t guard, double cpu_seconds);

  // CPU time of all children that `backend` has and had; resident bytes of its present ones.
  ProcessUsage usage(std::string_view backend);

 private:
  struct Tree {
    pid_t guard;
    double cpu_seconds;  // as last seen: less than this is never told
  };
  struct Account {
    double ended_cpu_seconds = 0;
    std::vector<Tree> trees;
  };
  std::map<std::string, Account, std::less<>> accounts_;
};

}  // namespace stdgate::stdio
