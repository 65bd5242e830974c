#include "gateway/app/overload_watch.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::app {

namespace {

using Memory = policy::Overload::Memory;

// Memory is given up down to this share: below, a stage ends.
constexpr double kAim = policy::Overload::kTight - policy::Overload::kSlack;
// And for one client: a single message is a large part of its bound, and its account reports again
// that it is near only when some room was made (Account).
constexpr double kAimOfClient = policy::Overload::kTight - 2 * policy::Overload::kSlack;

uint64_t part(uint64_t whole, double of_it) {
  return static_cast<uint64_t>(static_cast<double>(whole) * of_it);
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
              "caches and kept events are dropped, connections are closed with their answers"};
    case Memory::full:
      return {LogLevel::error, "memory is short",
              "new calls and sessions are refused; raise limits.memory, or lower limits.buffered"};
    case Memory::free:
      break;
  }
  return {LogLevel::info, "memory is free again", "new calls and sessions are accepted"};
}

}  // namespace

uint64_t memory_limit(const config::LimitsConfig& limits, SystemReading& memory) {
  if (limits.memory) return *limits.memory;
  return part(memory.whole(), OverloadWatch::kDefaultPart);
}

OverloadWatch::OverloadWatch(const config::LimitsConfig& limits, const OverloadServices& services,
                             SystemReading& memory)
    : services_(services),
      memory_(memory),
      memory_limit_(app::memory_limit(limits, memory)),
      stages_(limits.loop_lag),
      timer_(services.timers, [this] { look(); }),
      relief_timer_(services.timers, [this] { relieve_now(); }) {
  services_.accounts.gateway().set_watch([this] { relief_timer_.arm(services_.clock.now()); });
  timer_.arm(services_.clock.now() + kPeriod);
}

void OverloadWatch::set_limits(const config::LimitsConfig& limits) {
  memory_limit_ = app::memory_limit(limits, memory_);
  stages_.set_max_lag(limits.loop_lag);
}

void OverloadWatch::look() {
  const TimePoint now = services_.clock.now();
  look_at_lag(now - timer_.due());
  look_at_memory();
  timer_.arm(now + kPeriod);
}

void OverloadWatch::look_at_memory() {
  if (memory_limit_ == 0) return;
  resident_ = memory_.used();
  give_back();
  const Account& held = services_.accounts.gateway();
  const double held_part = static_cast<double>(held.used()) / static_cast<double>(held.bound());
  const bool is_new = stages_.note_memory(part_of(resident_), held_part);
  if (is_new) {
    const Words words = words_of(stages_.memory());
    services_.log.write(words.level, words.event,
                        {{"used_bytes", resident_},
                         {"limit_bytes", memory_limit_},
                         {"held_bytes", static_cast<uint64_t>(held.used())},
                         {"held_limit_bytes", static_cast<uint64_t>(held.bound())},
                         {"effect", words.effect}});
  }
  if (stages_.memory() != Memory::free) relieve(is_new);
  relieve_clients();
}

// The process has more than what is held: memory that the allocator keeps free, and memory that no
// account counts. The second part is the rest when the first has been given back.
void OverloadWatch::give_back() {
  const uint64_t held = services_.accounts.gateway().used();
  const uint64_t other = resident_ - std::min(resident_, held);
  other_ = std::min(other_.value_or(other), other);
  most_held_ = std::max(most_held_, held);
  const bool is_tight = part_of(resident_) >= policy::Overload::kTight;
  const bool is_much = other - *other_ >= (is_tight ? kLittle : kMuch);
  const bool has_fallen = most_held_ >= kMuch && held <= most_held_ / 2;
  const TimePoint now = services_.clock.now();
  if ((!is_much && !has_fallen) || now < give_back_after_) return;
  services_.storages.release_unused();
  most_held_ = held;
  const Duration cost = memory_.give_back();
  resident_ = memory_.used();
  other_ = resident_ - std::min(resident_, held);
  give_back_after_ = now + std::max(is_tight ? kRestWhileTight : kRest, kRestPerCost * cost);
}

void OverloadWatch::relieve_now() {
  const Account& held = services_.accounts.gateway();
  if (held.used() > part(held.bound(), policy::Overload::kTight)) relieve(false);
  relieve_clients();
}

void OverloadWatch::relieve(bool is_new_stage) {
  const Account& held = services_.accounts.gateway();
  const size_t before = held.used();
  // Of what is resident too much, what is held can give up no more than itself.
  const uint64_t aim = part(memory_limit_, kAim);
  const uint64_t too_much = resident_ - std::min(resident_, aim);
  const uint64_t target =
      std::min<uint64_t>(part(held.bound(), kAim), before - std::min<uint64_t>(before, too_much));
  const auto is_enough = [&held, target] { return held.used() <= target; };
  const size_t replays = services_.ballast.drop_replay(nullptr, is_enough);
  services_.storages.release_unused();
  // Not with each reading: caches that are dropped all the time are work.
  const TimePoint now = services_.clock.now();
  if (is_new_stage || (!is_enough() && now >= drop_caches_after_)) {
    drop_caches_after_ = now + kRest;
    services_.ballast.drop_caches();
    services_.storages.release_unused();  // what has been lent lately too
  }
  const size_t sessions = services_.ballast.forget_sessions(nullptr, is_enough);
  log_given_up(replays, sessions, before - held.used(), {});
}

void OverloadWatch::relieve_clients() {
  policy::Accounts& accounts = services_.accounts;
  const size_t bound = accounts.bounds().client;
  const uint64_t tight = part(bound, policy::Overload::kTight);
  if (accounts.gateway().used() < tight) return;
  std::vector<AccountRef> clients;
  accounts.for_each_client([&](Account& client) {
    if (client.used() >= tight) clients.emplace_back(&client);
  });
  for (const AccountRef& client : clients) {
    const size_t before = client->used();
    const auto is_enough = [&client, target = part(bound, kAimOfClient)] {
      return client->used() <= target;
    };
    const size_t replays = services_.ballast.drop_replay(client.get(), is_enough);
    const size_t sessions = services_.ballast.forget_sessions(client.get(), is_enough);
    log_given_up(replays, sessions, before - client->used(), accounts.name_of(*client.get()));
  }
}

void OverloadWatch::log_given_up(size_t replays, size_t sessions, size_t bytes,
                                 std::string_view client) {
  if (replays + sessions == 0 || !lines_.allow(services_.clock.now())) return;
  services_.log.write(LogLevel::warn, "memory of sessions is given up",
                      {{"client", if_any(client)},
                       {"replay_logs", static_cast<uint64_t>(replays)},
                       {"sessions", static_cast<uint64_t>(sessions)},
                       {"bytes", static_cast<uint64_t>(bytes)},
                       {"suppressed", lines_.take_suppressed()}});
}

void OverloadWatch::look_at_lag(Duration lag) {
  if (!stages_.note_lag(lag)) return;
  if (stages_.is_late()) {
    services_.log.write(LogLevel::warn, "event loop is late",
                        {{"lag_ms", lag}, {"effect", "new sessions are refused"}});
  } else {
    services_.log.write(LogLevel::info, "event loop is in time again",
                        {{"lag_ms", lag}, {"effect", "new sessions are accepted"}});
  }
}

namespace {

using Bytes = std::array<char, 4096>;

// The beginning of a short file of the kernel's, in `bytes`; empty: it is not there.
std::string_view read_start(const std::string& path, Bytes& bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(0, count))};
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// The least value of `file` in the group and in the groups around it. Groups without a limit do not
// count: their file has the text "max", or in version 1 a number larger than any memory.
uint64_t least_limit(const std::string& mount, std::string group, const std::string& file) {
  uint64_t least = UINT64_MAX;
  while (true) {
    std::string path = mount;
    path.append(group).append("/").append(file);
    Bytes bytes;
    if (const auto limit = number_in(read_start(path, bytes))) {
      least = std::min(least, *limit);
    }
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

uint64_t SystemMemory::used() {
  // size resident shared …, in pages
  Bytes bytes;
  const std::string_view statm = read_start(statm_, bytes);
  const size_t space = statm.find(' ');
  if (space == std::string::npos) return 0;
  const auto pages = number_in(statm.substr(space + 1));
  return pages.value_or(0) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

Duration SystemMemory::give_back() {
  const auto begin = std::chrono::steady_clock::now();
  ::malloc_trim(0);
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
}

uint64_t SystemMemory::whole() {
  uint64_t whole = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  Bytes bytes;
  const std::string_view groups = read_start(root_ + "/proc/self/cgroup", bytes);
  const std::string mount = root_ + "/sys/fs/cgroup";
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t controllers = line.find(':') + 1;
    const size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string group(line.substr(path) == "/" ? "" : line.substr(path));
    const std::string_view names = line.substr(controllers, path - 1 - controllers);
    if (names.empty()) whole = std::min(whole, least_limit(mount, group, "memory.max"));
    if (names == "memory") {
      whole = std::min(whole, least_limit(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return whole;
}

}  // namespace stdgate::app
