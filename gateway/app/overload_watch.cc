#include "gateway/app/overload_watch.h"

#include <algorithm>
#include <string>
#include <vector>

namespace stdgate::app {

namespace {

using Memory = policy::Overload::Memory;

// Down to which memory is given up: below, a stage ends.
constexpr double kAim = policy::Overload::kTight - policy::Overload::kSlack;
// And for one client: a single message is a large part of its bound, and its account tells anew
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
              "what nobody waits for is given up, connections are closed with their answers"};
    case Memory::full:
      return {LogLevel::error, "memory is short",
              "new calls and sessions are refused; raise limits.memory, or lower limits.buffered"};
    case Memory::free:
      break;
  }
  return {LogLevel::info, "memory is free again", "everything is taken"};
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
  services_.accounts.gateway().set_watch(this);
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

// What the process has beside what is held grows with what is free, and with what nobody counts:
// the latter is what is left when the former has been given back.
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
                        {{"lag_ms", lag}, {"effect", "new sessions are taken"}});
  }
}

}  // namespace stdgate::app
