#include "transports/stdio/memory_watch.h"

#include <memory>
#include <vector>

#include "transports/stdio/process_tree.h"

namespace stdgate::stdio {

namespace {

constexpr Duration kInterval = std::chrono::seconds(1);

struct Reading {
  uint64_t number;
  pid_t guard;
  uint64_t bytes = 0;
};

}  // namespace

MemoryWatch::MemoryWatch(net::Loop& loop)
    : loop_(loop), errands_(loop), timer_(loop.timers(), [this] { look(); }) {}

void MemoryWatch::watch(pid_t guard, pool::ChildEvents& events) {
  watched_.emplace(++last_, Watched{guard, &events});
  if (!timer_.armed() && !is_looking_) timer_.arm(loop_.now() + kInterval);
}

void MemoryWatch::forget(const pool::ChildEvents& events) {
  std::erase_if(watched_, [&events](const auto& one) { return one.second.events == &events; });
}

void MemoryWatch::look() {
  if (watched_.empty()) return;
  is_looking_ = true;
  auto readings = std::make_shared<std::vector<Reading>>();
  for (const auto& [number, one] : watched_) readings->push_back({number, one.guard});
  const auto read = [readings] {
    for (Reading& one : *readings) one.bytes = process_tree_usage(one.guard).resident_bytes;
  };
  errands_.start(read, [this, readings] {
    is_looking_ = false;
    for (const Reading& one : *readings) {
      // It may have ended meanwhile.
      const auto found = watched_.find(one.number);
      if (found != watched_.end() && one.bytes > 0) found->second.events->on_memory(one.bytes);
    }
    if (!watched_.empty()) timer_.arm(loop_.now() + kInterval);
  });
}

}  // namespace stdgate::stdio
