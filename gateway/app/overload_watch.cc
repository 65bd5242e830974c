#include "gateway/app/overload_watch.h"

#include <malloc.h>

namespace stdgate::app {

namespace {

using Memory = policy::Overload::Memory;

uint64_t limit_of(const config::LimitsConfig& limits, MemoryReading& memory) {
  if (limits.memory) return *limits.memory;
  const double whole = static_cast<double>(memory.whole());
  return static_cast<uint64_t>(whole * OverloadWatch::kDefaultPart);
}

struct Words {
  LogLevel level;
  std::string_view event;
  std::string_view effect;
};

Words words_of(Memory stage) {
  switch (stage) {
    case Memory::tight:
      return {LogLevel::warn, "memory is tight",
              "connections are closed with their answers, caches are dropped"};
    case Memory::full:
      return {LogLevel::error, "memory is short", "new calls and sessions are refused"};
    case Memory::free:
      break;
  }
  return {LogLevel::info, "memory is free again", "everything is taken"};
}

}  // namespace

OverloadWatch::OverloadWatch(const config::LimitsConfig& limits, const OverloadServices& services,
                             MemoryReading& memory)
    : services_(services),
      memory_(memory),
      memory_limit_(limit_of(limits, memory)),
      stages_(limits.loop_lag),
      timer_(services.timers, [this] { look(); }) {
  timer_.arm(services_.clock.now() + kPeriod);
}

void OverloadWatch::look() {
  const TimePoint now = services_.clock.now();
  look_at_lag(now - timer_.due());
  look_at_memory();
  timer_.arm(now + kPeriod);
}

void OverloadWatch::look_at_memory() {
  if (memory_limit_ == 0) return;
  const uint64_t used = memory_.used();
  const bool is_new =
      stages_.note_memory(static_cast<double>(used) / static_cast<double>(memory_limit_));
  if (stages_.memory() != Memory::free) services_.storages.release_unused();
  if (!is_new) return;
  if (stages_.memory() != Memory::free) {
    services_.caches.drop();
    services_.storages.release_unused();  // what has been lent lately too
    ::malloc_trim(0);
  }
  const Words words = words_of(stages_.memory());
  services_.log.write(
      words.level, words.event,
      {{"used_bytes", used}, {"limit_bytes", memory_limit_}, {"effect", words.effect}});
}

void OverloadWatch::look_at_lag(Duration lag) {
  if (!stages_.note_lag(lag)) return;
  if (stages_.is_late()) {
    services_.log.write(LogLevel::warn, "event loop is late",
                        {{"lag_ms", lag}, {"effect", "new sessions are refused"}});
  } else {
    services_.log.write(LogLevel::info, "event loop is in time again",
                        {{"lag_ms", lag}, {"effect", "new sessions are taken"}});
  }
}

}  // namespace stdgate::app
