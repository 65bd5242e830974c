#include "gateway/backend/principal_pools.h"

#include <algorithm>
#include <utility>

#include "gateway/backend/session_journal.h"
#include "gateway/backend/upstream.h"
#include "gateway/base/check.h"
#include "gateway/call/chain.h"
#include "gateway/pool/backend_status.h"

namespace stdgate::backend {

namespace {

constexpr std::string_view kTooMany =
    "too many principals use this server at a time; raise pool.principals";

// Two principals have equal keys if, and only if, they are the same one; see policy::is_same().
void write_key(std::string& out, const policy::Principal& principal) {
  out.clear();
  out += static_cast<char>(principal.kind);
  out.append(std::to_string(principal.issuer.size())).append(1, ':');
  out.append(principal.issuer).append(principal.name);
}

// The state of all pools together: the best state of any pool.
pool::BackendState better_of(pool::BackendState a, pool::BackendState b) {
  using enum pool::BackendState;
  for (const pool::BackendState state : {ready, started, starting, failing, idle}) {
    if (a == state || b == state) return state;
  }
  return a;
}

void add(pool::BackendStatus& sum, pool::BackendStatus one, const std::string& principal) {
  for (pool::ChildStatus& child : one.children) child.principal = principal;
  for (pool::ChildExit& exit : one.exits) exit.principal = principal;
  sum.queued += one.queued;
  sum.queued_bytes += one.queued_bytes;
  sum.in_flight += one.in_flight;
  sum.breaker_open = sum.breaker_open || one.breaker_open;
  sum.retry_after = std::max(sum.retry_after, one.retry_after);
  sum.failures = std::max(sum.failures, one.failures);
  sum.sessions += one.sessions;
  sum.parked_sessions += one.parked_sessions;
  sum.session_places += one.session_places;
  sum.missing_places += one.missing_places;
  sum.parked_calls += one.parked_calls;
  sum.watches += one.watches;
  sum.asleep = sum.asleep && one.asleep;
  sum.remembered = std::move(one.remembered);
  sum.not_remembered = std::move(one.not_remembered);
  for (const auto& [reason, count] : one.replaced) sum.replaced[reason] += count;
  if (one.peer_kind) sum.peer_kind = one.peer_kind;
  sum.state = better_of(sum.state, one.state);
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(sum.oldest_sessions, one.oldest_sessions);
  append(sum.longest_idle_sessions, one.longest_idle_sessions);
  append(sum.busiest_sessions, one.busiest_sessions);
  append(sum.children, one.children);
  append(sum.exits, one.exits);
}

// Cuts the list to the length that the list of one pool may have.
template <class Less>
void keep_first(std::vector<pool::SessionStatus>& sessions, Less&& goes_first) {
  constexpr size_t kShown = 20;
  std::ranges::stable_sort(sessions, goes_first);
  if (sessions.size() > kShown) sessions.resize(kShown);
}

}  // namespace

// Passes on changes of a pool's lists.
class PrincipalPools::PoolWatch final : public ListWatch {
 public:
  PoolWatch(PrincipalPools& pools, std::string identity)
      : pools_(pools), identity_(std::move(identity)) {}
  void on_lists_changed(uint8_t lists, std::string_view /*of_all*/) override {
    pools_.list_watches().tell_changed(lists, identity_);
  }
  void on_restart(std::string_view /*of_all*/) override {
    pools_.list_watches().tell_restart(identity_);
  }

 private:
  PrincipalPools& pools_;
  const std::string identity_;
};

struct PrincipalPools::Pool {
  Pool(std::string of, std::unique_ptr<Upstream> made)
      : principal(std::move(of)), upstream(std::move(made)) {}

  // Whether the pool may end: no call is under way. The costs are the time to start again, and the
  // claims that its children have given out.
  [[nodiscard]] bool is_idle() const {
    return sessions == 0 && upstream->calls() == 0 && upstream->status().parked_calls == 0;
  }

  const std::string principal;  // name of the principal
  const std::unique_ptr<Upstream> upstream;
  std::shared_ptr<PoolWatch> watch{};
  size_t sessions = 0;  // number of open sessions
  TimePoint used{};     // time of the last message, or of the last check that found it at work
};

PrincipalPools::PrincipalPools(UpstreamFacts facts, size_t max_pools,
                               std::unique_ptr<Upstream> lobby, Make make, const Services& services)
    : Upstream(std::move(facts)),
      max_pools_(max_pools),
      lobby_(std::move(lobby)),
      make_(std::move(make)),
      services_(services),
      sessions_(max_sessions()),
      sweep_timer_(services_.timers, [this] { sweep(); }) {}

PrincipalPools::~PrincipalPools() = default;

template <class Visitor>
void PrincipalPools::for_each(Visitor&& visit) const {
  visit(*lobby_);
  for (const auto& [key, pool] : pools_) visit(*pool->upstream);
  for (const auto& pool : ending_) visit(*pool->upstream);
}

void PrincipalPools::drop_caches() {
  for_each([](Upstream& upstream) { upstream.drop_caches(); });
}

void PrincipalPools::set_limits(const config::LimitsConfig& limits,
                                const config::TimeoutsConfig& timeouts) {
  set_envelope_limits(limits);
  set_limits_ = [limits, timeouts](Upstream& upstream) { upstream.set_limits(limits, timeouts); };
  for_each(set_limits_);
}

void PrincipalPools::set_rules(const config::BackendConfig& backend,
                               const std::vector<config::RoleConfig>& roles) {
  set_rules_ = [backend, roles](Upstream& upstream) { upstream.set_rules(backend, roles); };
  for_each(set_rules_);
}

void PrincipalPools::end_listening() {
  for_each([](Upstream& upstream) { upstream.end_listening(); });
}

// --- Pools ---------------------------------------------------------------------------------------

PrincipalPools::Pool* PrincipalPools::find(const call::CallContext& context) {
  if (!context.session.is_none()) {
    const Session* session = sessions_.find(context.session);
    return session == nullptr ? nullptr : session->pool;
  }
  if (context.principal == nullptr) return nullptr;
  write_key(key_, *context.principal);
  const auto found = pools_.find(key_);
  return found == pools_.end() ? nullptr : found->second.get();
}

tl::expected<PrincipalPools::Pool*, rpc::FaultReport> PrincipalPools::find_or_make(
    const policy::Principal* principal) {
  if (principal == nullptr) {
    return tl::unexpected(rpc::faults::plain(rpc::Fault::unauthenticated));
  }
  write_key(key_, *principal);
  const auto found = pools_.find(key_);
  if (found != pools_.end()) {
    found->second->used = now();
    return found->second.get();
  }
  return make(*principal);
}

tl::expected<PrincipalPools::Pool*, rpc::FaultReport> PrincipalPools::make(
    const policy::Principal& principal) {
  if (draining_) return tl::unexpected(rpc::faults::shutting_down());
  if (pools_.size() == max_pools_ && !free_place()) {
    return tl::unexpected(rpc::faults::overloaded(std::string(kTooMany)));
  }
  auto upstream = make_(principal);
  if (!upstream) {
    if (refusals_.allow(now())) {
      services_.log.write(LogLevel::warn, "no children for this principal",
                          {{"backend", name()},
                           {"principal", principal.name},
                           {"cause", upstream.error()},
                           {"suppressed", refusals_.take_suppressed()}});
    }
    return tl::unexpected(rpc::faults::child_failed("this server cannot be started for this client",
                                                    std::move(upstream.error())));
  }
  if (set_rules_) set_rules_(**upstream);
  if (set_limits_) set_limits_(**upstream);
  auto& pool = pools_[key_];
  pool = std::make_unique<Pool>(principal.name, std::move(*upstream));
  pool->used = now();
  if (!sweep_timer_.armed()) sweep_timer_.arm(now() + kSweep);
  Pool* const made = pool.get();
  made->watch = std::make_shared<PoolWatch>(*this, policy::identity_of(&principal));
  made->upstream->watch_lists(made->watch);
  made->upstream->start();
  return made;
}

// Retires the pool that has been idle longest. Pools whose clients may come back for claims go
// last.
bool PrincipalPools::free_place() {
  if (ending_.size() >= max_pools_) return false;
  auto longest = pools_.end();
  std::pair<bool, TimePoint> best;
  for (auto place = pools_.begin(); place != pools_.end(); ++place) {
    if (!place->second->is_idle()) continue;
    const std::pair rank(place->second->upstream->holds_work(), place->second->used);
    if (longest != pools_.end() && best <= rank) continue;
    longest = place;
    best = rank;
  }
  if (longest == pools_.end()) return false;
  retire(longest);
  return true;
}

void PrincipalPools::drop(DropReason reason) {
  services_.observer.on_dropped(id(), reason);
  call::log_dropped(services_.log, name(), reason);
}

// The pool is not on the call stack, because it has no call under way, or the timer has called.
void PrincipalPools::retire(Pools::iterator place) {
  ending_.push_back(std::move(place->second));
  pools_.erase(place);
  Upstream& upstream = *ending_.back()->upstream;
  upstream.drain();
  upstream.end_children(grace());
}

void PrincipalPools::sweep() {
  std::erase_if(ending_, [](const auto& pool) { return !pool->upstream->has_children(); });
  for (auto place = pools_.begin(); place != pools_.end();) {
    const auto current = place++;
    Pool& pool = *current->second;
    // A pool that keeps failing must not begin again with a fresh breaker.
    const bool is_needed =
        !pool.is_idle() || pool.upstream->holds_work() || pool.upstream->status().breaker_open;
    if (is_needed) {
      pool.used = now();
    } else if (now() - pool.used >= idle_timeout() && ending_.size() < max_pools_) {
      retire(current);
    }
  }
  if (!pools_.empty() || !ending_.empty()) sweep_timer_.arm(now() + kSweep);
}

// --- Messages ------------------------------------------------------------------------------------

call::CallContext PrincipalPools::inner_context(const call::CallContext& context) {
  call::CallContext inner = context;
  if (const Session* session = sessions_.find(context.session)) inner.session = session->inner;
  return inner;
}

Admission PrincipalPools::accept(const rpc::ParsedMessage& message,
                                 const call::CallContext& context) {
  if (const auto admission = redirect(message, context)) return *admission;
  if (!message.ok()) return lobby_->accept(message, context);
  const UnreadRequest refused{message.envelope.id, message.envelope.text.size()};
  Pool* pool = find(context);
  if (pool != nullptr) pool->used = now();
  if (pool == nullptr && context.session.is_none()) {
    auto made = find_or_make(context.principal);
    if (made) {
      pool = *made;
    } else if (message.envelope.kind == rpc::MessageKind::request) {
      lobby_->refuse(made.error(), refused, context);
      return Admission::answered_by_reply;
    } else {
      drop(DropReason::overloaded);
      return Admission::refused_overloaded;
    }
  }
  if (pool == nullptr && message.envelope.kind != rpc::MessageKind::request) {
    const bool is_note = message.envelope.kind == rpc::MessageKind::notification;
    drop(is_note ? DropReason::no_listener : DropReason::stray_response);
    return Admission::dropped;
  }
  if (pool == nullptr) {
    lobby_->refuse(rpc::faults::child_failed("the session is over"), refused, context);
    return Admission::answered_by_reply;
  }
  return pool->upstream->accept(message, inner_context(context));
}

bool PrincipalPools::gave(const rpc::Envelope& request, const call::CallContext& context) const {
  if (context.principal == nullptr) return false;
  std::string key;
  write_key(key, *context.principal);
  const auto found = pools_.find(key);
  return found != pools_.end() && found->second->upstream->gave(request, context);
}

bool PrincipalPools::holds_work() const {
  return std::ranges::any_of(
      pools_, [](const auto& entry) { return entry.second->upstream->holds_work(); });
}

bool PrincipalPools::take_cancel(const rpc::ParsedMessage& message,
                                 const call::CallContext& context) {
  // A virtual server has calls of all principals, and does not say whose the cancelled one is.
  if (context.is_of_server) {
    return std::ranges::any_of(pools_, [&](const auto& entry) {
      return entry.second->upstream->take_cancel(message, context);
    });
  }
  Pool* const pool = find(context);
  return pool != nullptr && pool->upstream->take_cancel(message, inner_context(context));
}

void PrincipalPools::cancel_calls_of(session::Caller caller) {
  for_each([caller](Upstream& upstream) { upstream.cancel_calls_of(caller); });
}

// --- Sessions ------------------------------------------------------------------------------------

tl::expected<session::SessionId, rpc::FaultReport> PrincipalPools::add_session(
    const policy::Client& client,
    const std::function<tl::expected<session::SessionId, rpc::FaultReport>(Upstream&)>& open) {
  const auto pool = find_or_make(client.principal.get());
  if (!pool) return tl::unexpected(pool.error());
  const auto id = sessions_.acquire();
  if (!id) return tl::unexpected(rpc::faults::overloaded("too many sessions"));
  const auto inner = open(*(*pool)->upstream);
  if (!inner) {
    sessions_.release(*id);
    return tl::unexpected(inner.error());
  }
  ++(*pool)->sessions;
  *sessions_.find(*id) = {*pool, *inner};
  return *id;
}

tl::expected<session::SessionId, rpc::FaultReport> PrincipalPools::open_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client) {
  return add_session(
      client, [&](Upstream& upstream) { return upstream.open_session(caller, sink, client); });
}

tl::expected<session::SessionId, rpc::FaultReport> PrincipalPools::adopt_session(
    session::Caller caller, session::SessionSink& sink, const policy::Client& client,
    const session::Beginning& beginning) {
  return add_session(client, [&](Upstream& upstream) {
    return upstream.adopt_session(caller, sink, client, beginning);
  });
}

void PrincipalPools::close_session(session::SessionId session, std::string_view why) {
  const Session* const found = sessions_.find(session);
  if (found == nullptr) return;
  const Session closed = *found;
  // First of all, so that answers from here on find the session closed.
  sessions_.release(session);
  STDGATE_CHECK(closed.pool->sessions > 0);
  --closed.pool->sessions;
  closed.pool->used = now();
  closed.pool->upstream->close_session(closed.inner, why);
}

session::Parking PrincipalPools::park_session(session::SessionId session) {
  const Session* const found = sessions_.find(session);
  if (found == nullptr) return session::Parking::refused;
  return found->pool->upstream->park_session(found->inner);
}

void PrincipalPools::give_up_asks(session::SessionId session) {
  if (const Session* found = sessions_.find(session)) {
    found->pool->upstream->give_up_asks(found->inner);
  }
}

void PrincipalPools::hold_child(session::SessionId session, bool held) {
  if (const Session* found = sessions_.find(session)) {
    found->pool->upstream->hold_child(found->inner, held);
  }
}

void PrincipalPools::end_sessions(session::SessionEnd end, std::string_view message) {
  for_each([&](Upstream& upstream) { upstream.end_sessions(end, message); });
}

// --- Its own life --------------------------------------------------------------------------------

void PrincipalPools::drain() {
  draining_ = true;
  for_each([](Upstream& upstream) { upstream.drain(); });
}

void PrincipalPools::fail_calls(const rpc::FaultReport& report) {
  for_each([&report](Upstream& upstream) { upstream.fail_calls(report); });
}

void PrincipalPools::end_children(Duration grace) {
  for_each([grace](Upstream& upstream) { upstream.end_children(grace); });
}

size_t PrincipalPools::calls() const {
  size_t calls = 0;
  for_each([&calls](const Upstream& upstream) { calls += upstream.calls(); });
  return calls;
}

size_t PrincipalPools::kept_messages() const {
  size_t count = 0;
  for_each([&count](const Upstream& upstream) { count += upstream.kept_messages(); });
  return count;
}

bool PrincipalPools::has_children() const {
  bool any = false;
  for_each([&any](const Upstream& upstream) { any = any || upstream.has_children(); });
  return any;
}

pool::BackendStatus PrincipalPools::status() const {
  pool::BackendStatus sum;
  sum.name = name();
  sum.isolation = config::Isolation::principal;
  const pool::BackendStatus lobby = lobby_->status();
  sum.sandbox = lobby.sandbox;
  sum.state = lobby.state;
  // Each pool reports whether it sleeps; all remember the same answers.
  sum.asleep = !pools_.empty();
  for (const auto& [key, pool] : pools_) add(sum, pool->upstream->status(), pool->principal);
  for (const auto& pool : ending_) add(sum, pool->upstream->status(), pool->principal);
  keep_first(sum.oldest_sessions, [](const auto& a, const auto& b) { return a.age > b.age; });
  keep_first(sum.longest_idle_sessions,
             [](const auto& a, const auto& b) { return a.idle > b.idle; });
  keep_first(sum.busiest_sessions,
             [](const auto& a, const auto& b) { return a.messages > b.messages; });
  pool::ExitJournal::keep_last(sum.exits);
  // If one principal's children fail, other principals' children may work. A missing program fails
  // for all.
  constexpr auto kFailing = pool::BackendState::failing;
  const bool is_missing = lobby.state == kFailing && sum.state == kFailing;
  sum.ready = !draining_ && !is_missing;
  if (draining_) sum.state = pool::BackendState::ending;
  if (!sum.ready) sum.reason = draining_ ? "shutting down" : lobby.reason;
  return sum;
}

pool::BackendState PrincipalPools::state() const {
  if (draining_) return pool::BackendState::ending;
  pool::BackendState best = lobby_->state();
  for_each([&best](const Upstream& upstream) { best = better_of(best, upstream.state()); });
  return best;
}

void PrincipalPools::check_invariants() {
  for_each([](Upstream& upstream) { upstream.check_invariants(); });
  size_t open = 0;
  for (const auto& [key, pool] : pools_) open += pool->sessions;
  for (const auto& pool : ending_) STDGATE_CHECK(pool->sessions == 0);
  STDGATE_CHECK(open == sessions_.size());
  STDGATE_CHECK(pools_.size() <= max_pools_);
}

}  // namespace stdgate::backend
