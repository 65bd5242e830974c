#include "transports/stdio/child_usage.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

namespace {

constexpr Duration kInterval = std::chrono::seconds(1);

struct Reading {
  uint64_t number;
  pid_t guard;
  std::string cgroup;
  uint64_t bytes = 0;
};

uint64_t measure(const Reading& one) {
  if (!one.cgroup.empty()) {
    if (const auto bytes = ChildCgroups::memory_of(one.cgroup)) return *bytes;
  }
  return process_tree_usage(one.guard).resident_bytes;
}

}  // namespace

MemoryWatch::MemoryWatch(net::Loop& loop, Log& log, CgroupPlaces places)
    : loop_(loop),
      errands_(loop),
      cgroups_(log, std::move(places)),
      timer_(loop.timers(), [this] { look(); }) {}

void MemoryWatch::watch(pid_t guard, std::string cgroup, pool::ChildEvents& events) {
  watched_.emplace(++last_, Watched{guard, std::move(cgroup), &events});
  if (!timer_.armed() && !is_looking_) timer_.arm(loop_.now() + kInterval);
}

void MemoryWatch::forget(const pool::ChildEvents& events) {
  std::erase_if(watched_, [&](auto& one) {
    if (one.second.events != &events) return false;
    cgroups_.remove(std::move(one.second.cgroup));
    return true;
  });
}

void MemoryWatch::look() {
  if (watched_.empty()) return;
  is_looking_ = true;
  auto readings = std::make_shared<std::vector<Reading>>();
  for (const auto& [number, one] : watched_) {
    readings->push_back({number, one.guard, one.cgroup});
  }
  const auto read = [readings] {
    for (Reading& one : *readings) one.bytes = measure(one);
  };
  errands_.start(read, [this, readings] {
    is_looking_ = false;
    for (const Reading& one : *readings) {
      // The child may have ended meanwhile.
      const auto found = watched_.find(one.number);
      if (found != watched_.end() && one.bytes > 0) found->second.events->on_memory(one.bytes);
    }
    if (!watched_.empty()) timer_.arm(loop_.now() + kInterval);
  });
}

void UsageLedger::open(std::string_view backend, pid_t guard) {
  accounts_.try_emplace(std::string(backend)).first->second.trees.push_back({guard, 0});
}

void UsageLedger::close(std::string_view backend, pid_t guard, double cpu_seconds) {
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return;
  std::vector<Tree>& trees = account->second.trees;
  const auto tree = std::ranges::find(trees, guard, &Tree::guard);
  if (tree == trees.end()) return;
  account->second.ended_cpu_seconds += std::max(cpu_seconds, tree->cpu_seconds);
  trees.erase(tree);
}

ProcessUsage UsageLedger::usage(std::string_view backend) {
  ProcessUsage sum;
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return sum;
  sum.cpu_seconds = account->second.ended_cpu_seconds;
  for (Tree& tree : account->second.trees) {
    const ProcessUsage usage = process_tree_usage(tree.guard);
    tree.cpu_seconds = std::max(tree.cpu_seconds, usage.cpu_seconds);
    sum.cpu_seconds += tree.cpu_seconds;
    sum.resident_bytes += usage.resident_bytes;
  }
  return sum;
}

}  // namespace stdgate::stdio
