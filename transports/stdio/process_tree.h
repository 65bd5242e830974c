// Process trees as /proc shows them, and what the trees of children use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/pool/child_link.h"
#include "transports/net/loop.h"

namespace stdgate::stdio {

// --- Process trees as /proc shows them (proc(5)): who is whose child, and what a tree uses
//
// The guard finds here what it has to end, and a scrape of the metrics sums up a backend. A
// snapshot may be out of date when it is returned; unreadable means empty.

// The direct children of `pid`, zombies included. Takes the kernel's own list, or, where that is
// not built in, looks at every process.
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> children_by_scan(pid_t pid);

// The content of a file of the kernel, whose size is not known before; nothing: it cannot be
// opened.
std::optional<std::string> read_whole(const std::string& path);

// Resources of a tree of processes.
struct ProcessUsage {
  double cpu_seconds = 0;       // user and system, of descendants that were waited for too
  uint64_t resident_bytes = 0;  // pages that processes share count once for each
};

// The usage of `root` and all its descendants.
ProcessUsage process_tree_usage(pid_t root);

// --- What children use: memory, measured once a second, and CPU time for the metrics

// Where the files of cgroups are.
struct CgroupPlaces {
  std::string mount = "/sys/fs/cgroup";
  std::string own = "/proc/self/cgroup";  // says which cgroup this process is in
};

// ChildCgroups: a control group of its own (cgroups v2) for each child whose memory is watched.
//
// Where systemd has given this process a cgroup to divide (Delegate=memory), each such child gets
// one beneath it. The kernel's figure counts a page once that several processes share, and memory
// that no process has mapped. Job: make these cgroups, remove them, and read their figure. The
// guard joins its cgroup itself, before it starts the command, so that nothing is outside of it.
// The rest of this process's cgroup moves to one named kOwnName, because a cgroup that is divided
// may have no processes. Without delegation MemoryWatch, the owner, reads /proc instead.
class ChildCgroups {
 public:
  static constexpr const char* kOwnName = "gateway";  // as in DelegateSubgroup=

  ChildCgroups(Log& log, CgroupPlaces places) : log_(log), places_(std::move(places)) {}
  ~ChildCgroups() { sweep(); }
  ChildCgroups(const ChildCgroups&) = delete;
  ChildCgroups& operator=(const ChildCgroups&) = delete;

  // The directory of a new cgroup; empty: no cgroup is delegated.
  std::string make();
  // The child of this cgroup is gone, or about to go.
  void remove(std::string directory);

  // Memory that the kernel cannot take back by dropping cached files; nothing: the cgroup cannot be
  // read, or has no process.
  static std::optional<uint64_t> memory_of(const std::string& directory);

 private:
  void prepare();
  // Removes what could not be removed before.
  void sweep();

  Log& log_;
  const CgroupPlaces places_;
  bool is_prepared_ = false;
  std::string base_;  // their parent; empty: no cgroup is delegated
  uint64_t made_ = 0;
  std::vector<std::string> gone_;  // still to be removed
};

// MemoryWatch: measures once a second how much memory each child and its descendants use: by the
// figure of their cgroup, or, without one, as process_tree_usage() sums it up. Another thread
// reads.
//
// Owner: ChildProcesses. Limit: one reading at a time is under way.
class MemoryWatch {
 public:
  MemoryWatch(net::Loop& loop, Log& log, CgroupPlaces places);

  // The directory of a cgroup for a child that is about to be started; empty: no cgroups here.
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
