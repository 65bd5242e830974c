// ChildCgroups: a control group of its own (cgroups v2) for each child whose memory is watched.
//
// Where systemd has given this process a cgroup to divide (Delegate=memory), each such child gets
// one beneath it. The kernel's figure counts a page once that several processes share, and memory
// that no process has mapped. Job: make these cgroups, remove them, and read their figure. The
// guard joins its cgroup itself, before it starts the command, so that nothing is outside of it.
// The rest of this process's cgroup moves to one named kOwnName, because a cgroup that is divided
// may have no processes. Without delegation MemoryWatch, the owner, reads /proc instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/log.h"

namespace stdgate::stdio {

struct CgroupPlaces {
  std::string mount = "/sys/fs/cgroup";
  std::string own = "/proc/self/cgroup";  // says which cgroup this process is in
};

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

}  // namespace stdgate::stdio
