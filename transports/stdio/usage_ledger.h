// UsageLedger: what each backend's children use and have used, for the metrics.
//
// Job: CPU time never falls when a child ends: it is moved from the living to the ended.
// Owner: ChildProcesses. Reads /proc when asked, which is with each scrape.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

class UsageLedger {
 public:
  void open(std::string_view backend, pid_t guard);
  // The tree under `guard` is gone, or about to go, having used `cpu_seconds`.
  void close(std::string_view backend, pid_t guard, double cpu_seconds);

  // Of all children that `backend` has and had; resident bytes of those that it has.
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
