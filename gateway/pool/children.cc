#include "gateway/pool/children.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

namespace {

// A failing backend has recovered when a child has run for this long, or has answered.
constexpr Duration kProof = std::chrono::seconds(5);

// Sessions that share children have sent initialize to them, which only a stateful child serves.
Greeting first_greeting(const config::BackendConfig& config) {
  return config.isolation == config::Isolation::shared ? Greeting::handshake : Greeting::probe;
}

// The revision that the child has shown, for the log.
LogField revision_of(const Child& child) {
  const std::string_view revision = child.facts().protocol_version;
  if (revision.empty()) return {"revision", {}};
  return {"revision", revision};
}

}  // namespace

Children::Children(const PoolServices& services, Pool& pool, ChildListener& listener,
                   const SharedQueues& queues, Leases& leases)
    : services_(services),
      pool_(pool),
      listener_(listener),
      queues_(queues),
      leases_(leases),
      breaker_(services.config.pool, services.core.random),
      verdict_(services.config.revision, first_greeting(services.config)),
      exits_(services),
      kept_(services, queues, children_),
      restart_timer_(services.core.timers, [this] { start_needed(); }),
      idle_timer_(services.core.timers, [this] { end_idle(); }) {}

Children::~Children() {
  if (is_open_) services_.core.observer.on_breaker(services_.backend, false);
}

Child* Children::find(uint64_t number) const {
  const auto found = std::find_if(children_.begin(), children_.end(), [number](const auto& child) {
    return child->number() == number;
  });
  return found == children_.end() ? nullptr : found->get();
}

Child* Children::least_loaded(const call::Call* call) const {
  Child* best = nullptr;
  for (const auto& child : children_) {
    if (child->isolation() != config::Isolation::shared || !child->has_room()) continue;
    if (call != nullptr && !child->admits(*call)) continue;
    if (best == nullptr || child->load() < best->load()) best = child.get();
  }
  return best;
}

Child* Children::warm() const {
  const auto found = std::find_if(children_.begin(), children_.end(), [](const auto& child) {
    return child->isolation() == config::Isolation::session && child->lease().is_none() &&
           child->state() != ChildState::draining;
  });
  return found == children_.end() ? nullptr : found->get();
}

Children::Census Children::census() const {
  Census census;
  for (const auto& child : children_) {
    const ChildState state = child->state();
    const bool is_ready = state == ChildState::ready || state == ChildState::busy;
    const bool is_shared = child->isolation() == config::Isolation::shared;
    if ((is_shared && child->is_retiring()) || (!is_ready && state != ChildState::starting)) {
      continue;
    }
    Census::Lane& lane = is_shared ? census.shared : census.session;
    ++(is_ready ? lane.ready : lane.starting);
    if (!is_shared && child->lease().is_none()) ++census.warm;
  }
  return census;
}

bool Children::are_asleep() const {
  return !is_tripped() && std::ranges::none_of(children_, [](const auto& child) {
    return child->state() != ChildState::draining && child->state() != ChildState::dead;
  });
}

// --- How many there may be ------------------------------------------------------------------

uint32_t Children::most_session_places() const {
  return services_.config.serves_one ? 0 : config().max - kept_.unlent();
}

uint32_t Children::session_places() const {
  return std::min(most_session_places(), config().max - (keeps_shared_place_ ? 1 : 0));
}

// More sessions than that may wait for a child.
uint32_t Children::places_taken() const {
  return std::min(static_cast<uint32_t>(leases_.taken()), session_places());
}

uint32_t Children::warm_wanted() const {
  const uint32_t places = std::min(config().max - kept_.all(), session_places());
  return std::min(config().warm, places - std::min(places, places_taken()));
}

uint32_t Children::shared_places() const {
  if (!services_.dialect.traits().shares_children) return 0;
  const uint32_t free = config().max - std::min(config().max, places_taken() + warm_wanted());
  // State that a stateful child keeps for a principal must not be spread over processes.
  const bool is_one = services_.config.serves_one && peer_kind() != PeerKind::stateless;
  if (!is_one) return free;
  // A child that is replaced finishes its calls before its successor starts.
  const bool is_taken =
      std::ranges::any_of(children_, [](const auto& child) { return child->finishes(); });
  return is_taken ? 0 : std::min(free, 1U);
}

// --- Starting -------------------------------------------------------------------------------

std::optional<Children::Need> Children::needed(const Census& there) const {
  // While a shared child shows whether sessions need children of their own, they get no more.
  if (leases_.waiting() > 0 && !keeps_shared_place_ && there.session.alive() < session_places()) {
    return Need{config::Isolation::session, StartReason::demand};
  }
  if (!draining_ && there.shared.alive() < std::min(config().min, shared_places())) {
    return Need{config::Isolation::shared, StartReason::minimum};
  }
  // While a child has room, the queue is about to be given to it.
  const size_t room_to_come = size_t{there.shared.starting} * config().max_in_flight;
  if (there.shared.alive() < shared_places() && queues_.wanting() > room_to_come &&
      least_loaded() == nullptr) {
    return Need{config::Isolation::shared, StartReason::demand};
  }
  if (!draining_ && lacks_successor() != nullptr && there.shared.alive() < shared_places()) {
    return Need{config::Isolation::shared, StartReason::successor};
  }
  if (draining_ || there.warm >= warm_wanted()) return std::nullopt;
  return Need{config::Isolation::session, StartReason::minimum};
}

Demand Children::demand() const {
  return queues_.empty() && leases_.waiting() == 0 ? Demand::unasked : Demand::asked;
}

void Children::start_needed() {
  while (!ending_ && children_.size() < config().max) {
    const Census there = census();
    auto need = needed(there);
    if (!need || waits_for_peer_kind(*need, there)) return;
    if (breaker_.failures() > 0) {
      need->reason = StartReason::restart;
      if (there.starting() > 0) return;
      if (!breaker_.may_start(now(), demand())) {
        restart_timer_.arm(breaker_.next_start(demand()));
        return;
      }
    }
    start(*need);
  }
}

void Children::start(const Need& need) {
  services_.core.observer.on_child_started(services_.backend, need.reason);
  children_.push_back(std::make_unique<Child>(services_, pool_, listener_, ++started_,
                                              need.isolation, verdict_.greeting(), greeting_));
  Child& child = *children_.back();
  Child* const worn = need.isolation == config::Isolation::shared ? lacks_successor() : nullptr;
  if (worn != nullptr) worn->wear().successor = child.number();
  child.start();
  if (need.isolation == config::Isolation::session) leases_.attach(child);
}

// A shared child that is to be replaced and still serves, but has no successor; null if none.
Child* Children::lacks_successor() const {
  const auto found = std::ranges::find_if(children_, [this](const auto& child) {
    return child->wear().reason && !child->is_retiring() &&
           child->isolation() == config::Isolation::shared &&
           find(child->wear().successor) == nullptr;
  });
  return found == children_.end() ? nullptr : found->get();
}

// While the first child is asked for its kind, other children would only be asked the same.
bool Children::waits_for_peer_kind(const Need& need, const Census& there) const {
  return need.isolation == config::Isolation::shared && there.shared.starting > 0 &&
         verdict_.greeting() == Greeting::probe;
}

void Children::learn_peer_kind(const Child& child) {
  const auto peer_kind = child.peer_kind();
  if (!peer_kind || !verdict_.learn(*peer_kind)) return;
  services_.core.log.write(LogLevel::info, "era known",
                           {{"backend", services_.config.name},
                            {"child", child.number()},
                            {"era", peer_kind_name(*peer_kind)},
                            revision_of(child)});
}

void Children::end_warm() {
  for (const auto& child : children_) {
    if (child->isolation() != config::Isolation::session || !child->lease().is_none()) continue;
    child->end(ExitReason::asked, "sessions share children", config().grace);
  }
}

bool Children::excuses(const Child& child, const ChildEnd& end) {
  if (end.was_ready || child.isolation() == config::Isolation::session) return false;
  if (end.reason != ExitReason::asked) {
    const bool is_excused = verdict_.excuses(child.begun(), child.start_failure());
    if (is_excused) was_excused_ = true;
    return is_excused;
  }
  learn_peer_kind(child);
  return false;
}

void Children::note_ready(const Child& child) {
  learn_peer_kind(child);
  was_started_ = true;
  was_excused_ = false;
  tell_breaker();
  // Without a handshake of the gateway's own, the child has shown only that it runs.
  if (child.has_answered()) announce(child, child.ready_since() - child.started_at());
}

void Children::note_answer(const Child& child, rpc::MessageKind kind) {
  note_success();
  if (was_ready_) return;
  // The refusal of a session's handshake shows nothing.
  const bool is_shared = child.isolation() == config::Isolation::shared;
  if (!is_shared && kind != rpc::MessageKind::result) return;
  // Without a handshake the child was ready when it ran, long before the first call.
  const bool greets = !services_.dialect.traits().greeting.empty();
  announce(child, (is_shared || !greets ? child.ready_since() : now()) - child.started_at());
}

void Children::announce(const Child& child, Duration start) {
  if (std::exchange(was_ready_, true)) return;
  services_.core.log.write(LogLevel::info, "backend ready",
                           {{"backend", services_.config.name},
                            {"child", child.number()},
                            {"start_ms", start},
                            revision_of(child)});
}

// --- Ending ---------------------------------------------------------------------------------

// A session has got a place that shared children had filled while it was free. The least loaded of
// these finishes its calls and goes; a child that clients need goes last.
void Children::make_places() {
  for (uint32_t there = census().shared.alive(); there > shared_places(); --there) {
    Child* least = nullptr;
    std::pair<bool, size_t> least_rank;
    for (const auto& child : children_) {
      if (child->isolation() != config::Isolation::shared || child->is_retiring() ||
          child->state() == ChildState::draining) {
        continue;
      }
      const std::pair rank(listener_.needed_until(child->number()) > now(), child->load());
      if (least != nullptr && least_rank <= rank) continue;
      least = child.get();
      least_rank = rank;
    }
    STDGATE_CHECK(least != nullptr);
    least->retire();
    end_retired(*least);
  }
}

void Children::end_retired(Child& child) {
  if (child.wear().reason) return;  // see Replacement
  // Calls that listen continue at another child.
  if (child.working() > 0 || child.bound().has_calls() || child.state() == ChildState::draining) {
    return;
  }
  child.end(ExitReason::asked, "a session needed its place", config().grace);
}

void Children::remove(Child& child, const ChildEnd& end, bool is_fine, bool serves_lease) {
  exits_.note(child, end, !is_fine);
  if (!is_fine) {
    note_failure(child, end, serves_lease);
  } else if (end.was_ready) {
    note_success();
  }
  const auto place = std::find_if(children_.begin(), children_.end(),
                                  [&child](const auto& owned) { return owned.get() == &child; });
  STDGATE_CHECK(place != children_.end());
  gone_.push_back(std::move(*place));
  children_.erase(place);
  // The last child may sleep now: see end_listening().
  if (children_.size() == 1) watch_idle(*children_.front());
}

void Children::note_failure(const Child& child, const ChildEnd& end, bool serves_lease) {
  const bool was_stable = end.was_ready && now() - child.ready_since() >= config().backoff_max;
  const bool was_tripped = breaker_.tripped();
  breaker_.on_failure(now(), child.started_at(),
                      was_stable      ? Loss::stable_child
                      : end.was_ready ? Loss::child
                                      : Loss::start);
  // The child that was greeted in the other way has failed too.
  const bool has_crashed = !end.was_ready && child.start_failure() != StartFailure::refused;
  if (std::exchange(was_excused_, false) && has_crashed) breaker_.count_excused();
  last_failure_ = end.message;
  // The loss of one session's child says little about the backend.
  const bool is_alone = serves_lease && end.was_ready && !breaker_.tripped();
  fails_for_all_ = !is_alone || (fails_for_all_ && breaker_.failures() > 1);
  tell_breaker();
  if (was_tripped || !breaker_.tripped()) return;
  services_.core.log.write(LogLevel::warn, "breaker opened",
                           {{"backend", services_.config.name},
                            {"failures", uint64_t{breaker_.failures()}},
                            {"cause", end.message},
                            {"detail", end.detail},
                            {"retry_ms", breaker_.retry_after(now())}});
}

void Children::end_failures() {
  if (breaker_.tripped()) {
    services_.core.log.write(LogLevel::info, "breaker closed",
                             {{"backend", services_.config.name}});
  }
  const bool has_failed = breaker_.failures() > 0;
  breaker_.on_success();
  tell_breaker();
  // Children for the minimum wait no longer.
  if (has_failed) restart_timer_.arm(now());
}

// The breaker counts as open while calls are refused: tripped, and no child is ready.
void Children::tell_breaker() {
  const bool is_open = breaker_.tripped() && census().ready() == 0;
  if (is_open == std::exchange(is_open_, is_open)) return;
  services_.core.observer.on_breaker(services_.backend, is_open);
}

void Children::watch_idle(const Child& child) {
  if ((idle_timer_.armed() && !is_idle_timer_late_) || child.working() > 0) return;
  const bool may_go = children_.size() > config().min || child.abandoned().withhold();
  if (child.lease().is_none() && may_go) {
    idle_timer_.arm(now() + config().idle_timeout);
    is_idle_timer_late_ = false;
  }
}

// The server sleeps if its last child is kept by nothing but the gateway's own calls that listen.
// Returns when to look again.
std::optional<TimePoint> Children::end_listening() {
  if (config().min > 0 || children_.size() != 1) return std::nullopt;
  Child& child = *children_.front();
  if (child.state() != ChildState::ready || child.working() > 0 || child.in_flight() == 0 ||
      child.isolation() != config::Isolation::shared) {
    return std::nullopt;
  }
  const TimePoint needed = listener_.needed_until(child.number());
  if (needed == TimePoint::max()) return std::nullopt;
  const TimePoint due = std::max(child.rests_since() + config().idle_timeout, needed);
  if (due > now()) return due;
  if (listener_.let_sleep(child)) {
    child.end(ExitReason::asked, "the child was idle", config().grace);
  }
  return std::nullopt;
}

void Children::end_idle() {
  std::optional<TimePoint> next = end_listening();
  const TimePoint time = now();
  const Census there = census();
  uint32_t spare_shared = there.shared.alive() - std::min(there.shared.alive(), config().min);
  uint32_t spare_warm = there.warm - std::min(there.warm, warm_wanted());
  for (const auto& child : children_) {
    uint32_t& spare = child->isolation() == config::Isolation::shared ? spare_shared : spare_warm;
    // A child in doubt withholds messages, so it is replaced even if none is spare.
    const bool is_worn = child->abandoned().withhold();
    if (child->state() != ChildState::ready || child->in_flight() > 0 || (spare == 0 && !is_worn) ||
        !child->lease().is_none()) {
      continue;
    }
    const TimePoint needed = listener_.needed_until(child->number());
    if (needed == TimePoint::max()) continue;
    const TimePoint due = std::max(child->idle_since() + config().idle_timeout, needed);
    if (due <= time) {
      child->end(ExitReason::asked, "the child was idle", config().grace);
      if (spare > 0) --spare;
    } else {
      next = std::min(next.value_or(due), due);
    }
  }
  if (!next) return;
  idle_timer_.arm(*next);
  is_idle_timer_late_ = *next > time + config().idle_timeout;
}

void Children::end_all(const std::string& message, Duration grace) {
  draining_ = ending_ = true;
  restart_timer_.disarm();
  for (const auto& child : children_) child->end(ExitReason::asked, message, grace);
}

// --- Reports --------------------------------------------------------------------------------

rpc::FaultReport Children::breaker_report() const {
  rpc::FaultReport report =
      rpc::faults::overloaded("the backend keeps failing; calls are refused for a while");
  report.detail = last_failure_;
  report.retry_after = std::max(breaker_.retry_after(now()), rpc::kRetryHint);
  return report;
}

void Children::describe(BackendStatus& status) const {
  const Census there = census();
  status.isolation = services_.config.isolation;
  status.peer_kind = verdict_.peer_kind();
  status.max_children = config().max;
  status.max_queued = config().queue;
  status.exits = exits_.exits();
  status.failures = breaker_.failures();
  status.breaker_open = breaker_.tripped() && there.ready() == 0 && !is_trial_due();
  status.retry_after = breaker_.retry_after(now());
  for (const auto& child : children_) {
    status.children.push_back(child->status());
    status.in_flight += child->in_flight();
  }
  status.sandbox = services_.core.launcher.sandbox_status(services_.launch);
  status.reason = why_not_ready(there);
  status.ready = status.reason.empty();
  status.state = state(there);
  if (status.ready && status.state == BackendState::failing) {
    status.reason = last_failure_ + "; it is started again with the next call";
  }
}

// Whether a child has shown that it works, or has run for a while without a failure.
bool Children::has_proven_child() const {
  return std::ranges::any_of(children_, [this](const auto& child) {
    const bool runs = child->state() == ChildState::ready || child->state() == ChildState::busy;
    return runs && (child->has_answered() || now() - child->ready_since() >= kProof);
  });
}

std::string Children::why_not_ready(const Census& there) const {
  if (draining_) return "shutting down";
  if (!was_started_) {
    const auto found = services_.core.launcher.look_for(services_.launch);
    if (!found) return found.error().what;
  }
  const bool keeps_some = config().min > 0 || config().warm > 0;
  if (!is_failing()) {
    if (there.ready() > 0 || config().min == 0) return {};
    return has_failed() ? "no child is ready yet; " + last_failure_ : "no child is ready yet";
  }
  if (has_proven_child()) return {};
  // Where no child is kept running, the next call is the trial.
  return keeps_some || there.alive() > 0 || !is_trial_due() ? last_failure_ : std::string();
}

BackendState Children::state(const Census& there) const {
  if (draining_) return BackendState::ending;
  if (is_failing()) return has_proven_child() ? BackendState::ready : BackendState::failing;
  const bool has_answered = std::ranges::any_of(children_, &Child::has_answered);
  if (there.ready() > 0) return has_answered ? BackendState::ready : BackendState::started;
  if (there.starting() > 0) return BackendState::starting;
  if (was_ready_) return BackendState::idle;
  const bool can_start = was_started_ || services_.core.launcher.look_for(services_.launch);
  return can_start && !has_failed() ? BackendState::unstarted : BackendState::failing;
}

void Children::check_invariants() const {
  STDGATE_CHECK(children_.size() <= config().max);
  size_t leased = 0;
  for (const auto& child : children_) {
    child->check_invariants();
    if (child->lease().is_none()) continue;
    ++leased;
    const Lease* const lease = leases_.find(child->lease());
    STDGATE_CHECK(lease != nullptr && lease->child == child.get());
  }
  size_t leases = 0;
  leases_.for_each([&](const Lease& lease) {
    ++leases;
    leased -= lease.child == nullptr ? 0 : 1;
    STDGATE_CHECK((lease.child != nullptr) == (lease.state == LeaseState::served));
    const bool is_gone = lease.state == LeaseState::parked || lease.state == LeaseState::lost;
    STDGATE_CHECK(!is_gone || lease.queue.empty());
    STDGATE_CHECK(lease.revival == nullptr || lease.child != nullptr);
    lease.queue.check_invariants();
  });
  STDGATE_CHECK(leased == 0 && leases == leases_.size());
}

}  // namespace stdgate::pool
