#include "gateway/pool/call_table.h"

#include <algorithm>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

namespace {

// Whether it is counted apart from the calls of clients.
bool is_unusual(const call::Call& call) {
  return call.listens || call.caller.is_none() || CallTable::is_of_gateway(call);
}

// A bound call takes room of its own kind; a call that listens takes none.
bool takes_bound_room(const call::Call& call) { return call.route.is_bound && !call.listens; }

}  // namespace

void SessionCounts::add(session::SessionId session) {
  Entry& entry = entry_of(session.index);
  if (entry.calls++ > 0) {
    entry.is_mixed = entry.is_mixed || entry.generation != session.generation;
    return;
  }
  entry.generation = session.generation;
  entry.is_mixed = false;
  ++sessions_;
  places_ ^= session.index;
}

void SessionCounts::remove(session::SessionId session) {
  if (--entries_[session.index].calls > 0) return;
  --sessions_;
  places_ ^= session.index;
}

size_t SessionCounts::calls_of(session::SessionId session) const {
  if (session.index >= entries_.size()) return 0;
  const Entry& entry = entries_[session.index];
  return entry.generation == session.generation && !entry.is_mixed ? entry.calls : 0;
}

std::optional<session::SessionId> SessionCounts::only(size_t calls) const {
  if (sessions_ == 0) return calls == 0 ? std::optional(session::SessionId()) : std::nullopt;
  const Entry& entry = entries_[sessions_ == 1 ? places_ : 0];
  if (sessions_ > 1 || entry.is_mixed || entry.calls != calls) return std::nullopt;
  return session::SessionId{places_, entry.generation};
}

void SessionCounts::grow(uint32_t place) { entries_.resize(place + 1); }

CallTable::CallTable(const PoolServices& services, const ChildName& child,
                     config::Isolation isolation)
    : services_(services),
      child_(child),
      is_shared_(isolation != config::Isolation::session),
      calls_(rpc::Correlator<call::CallPtr>::kMaxEntries),
      max_working_(services.config.pool.max_in_flight) {}

call::Call& CallTable::open(call::CallPtr&& call) {
  call::Call& opened = put(std::move(call));
  ++sent_;
  bytes_ += opened.bytes_in;
  return opened;
}

// The call has no caller, because no client waits for the answer.
call::Call* CallTable::open_upkeep(TimePoint deadline, std::optional<session::Severity> severity) {
  if (full()) return nullptr;
  call::CallPtr call = services_.calls.take();
  call->deadline = deadline;
  call->severity = severity;
  call::Call& opened = put(std::move(call));
  services_.calls.deadlines().add(opened);
  return &opened;
}

call::Call& CallTable::put(call::CallPtr&& call) {
  call::Call& opened = *call;
  const auto id = calls_.open(std::move(call));
  STDGATE_CHECK(id.has_value());
  opened.written = services_.core.clock.now();
  opened.child = child_.number;
  opened.child_pid = child_.pid;
  opened.place = call::CallPlace::in_flight;
  opened.wire_id = *id;
  count(opened);
  return opened;
}

inline void CallTable::count(const call::Call& call) {
  causing_ids_ ^= call.wire_id;
  bound_ += takes_bound_room(call) ? 1 : 0;
  if (is_unusual(call)) {
    count_unusual(call);
  } else if (!is_shared_) {
    alone_ += call.alone ? 1 : 0;
  } else if (!call.session.is_none()) {
    sessions_.add(call.session);
  }
}

inline void CallTable::discount(const call::Call& call) {
  causing_ids_ ^= call.wire_id;
  bound_ -= takes_bound_room(call) ? 1 : 0;
  if (is_unusual(call)) {
    discount_unusual(call);
  } else if (!is_shared_) {
    alone_ -= call.alone ? 1 : 0;
  } else if (!call.session.is_none()) {
    sessions_.remove(call.session);
  }
}

void CallTable::count_unusual(const call::Call& call) {
  upkeep_ += call.caller.is_none() ? 1 : 0;
  listening_ += call.listens ? 1 : 0;
  if (!causes_nothing(call)) return;
  ++silent_;
  causing_ids_ ^= call.wire_id;
}

void CallTable::discount_unusual(const call::Call& call) {
  upkeep_ -= call.caller.is_none() ? 1 : 0;
  listening_ -= call.listens ? 1 : 0;
  if (!causes_nothing(call)) return;
  --silent_;
  causing_ids_ ^= call.wire_id;
}

call::Call& CallTable::replace(rpc::WireId id, call::CallPtr call) {
  call::CallPtr& place = calls_.at(id);
  STDGATE_CHECK(!place->caller.is_none() && !call->caller.is_none());
  STDGATE_CHECK(!place->listens && !call->listens);
  STDGATE_CHECK(!place->route.is_bound && !call->route.is_bound);
  call->written = services_.core.clock.now();
  call->child = child_.number;
  call->child_pid = child_.pid;
  call->child_kind = place->child_kind;
  call->place = call::CallPlace::in_flight;
  call->wire_id = id;
  bytes_ += call->bytes_in - place->bytes_in;
  ++sent_;
  discount(*place);
  count(*call);
  place->place = call::CallPlace::nowhere;
  place = std::move(call);
  return *place;
}

call::CallPtr CallTable::close(rpc::WireId id) {
  call::CallPtr call = take(id);
  STDGATE_CHECK(call != nullptr);
  return call;
}

call::CallPtr CallTable::take(rpc::WireId id) {
  std::optional<call::CallPtr> taken = calls_.take(id);
  if (!taken) return nullptr;
  call::CallPtr call = *std::move(taken);
  call->place = call::CallPlace::nowhere;
  discount(*call);
  STDGATE_CHECK(bytes_ >= call->bytes_in);
  bytes_ -= call->bytes_in;
  const TimePoint now = services_.core.clock.now();
  if (calls_.size() == 0) idle_since_ = now;
  if (working() == 0 && !call->listens) rests_since_ = now;
  return call;
}

std::vector<call::CallPtr> CallTable::take_all() {
  std::vector<call::CallPtr> taken;
  while (const auto id = calls_.oldest()) {
    call::CallPtr call = close(*id);
    if (!call->caller.is_none()) taken.push_back(std::move(call));
  }
  return taken;
}

call::Call* CallTable::with_token(std::string_view token) {
  const auto id = rpc::parse_wire_id(token);
  call::Call* const call = id ? find(*id) : nullptr;
  if (is_shared_ || (call != nullptr && call->alone)) {
    return call != nullptr && !call->progress_token.empty() ? call : nullptr;
  }
  call::Call* found = nullptr;
  for_each([&](call::Call& some) {
    // The child of a call alone has seen its wire id, and never the client's token.
    if (found == nullptr && !some.alone && some.progress_token == token) found = &some;
  });
  return found;
}

void CallTable::note_heard(session::SessionId of, TimePoint now) {
  for_each([&](call::Call& call) {
    if (call.session == of) call.heard = now;
  });
}

void CallTable::check_invariants() {
  size_t upkeep = 0;
  size_t listening = 0;
  size_t alone = 0;
  size_t silent = 0;
  size_t bound = 0;
  size_t bytes = 0;
  rpc::WireId ids = 0;
  const auto oldest = calls_.oldest();
  const session::SessionId session = oldest ? at(*oldest).session : session::SessionId();
  size_t of_session = 0;
  for (auto id = calls_.oldest(); id; id = calls_.next(*id)) {
    const call::Call& call = at(*id);
    const bool is_silent = causes_nothing(call);
    bytes += call.bytes_in;
    upkeep += call.caller.is_none() ? 1 : 0;
    listening += call.listens ? 1 : 0;
    silent += is_silent ? 1 : 0;
    ids ^= is_silent ? 0 : *id;
    bound += takes_bound_room(call) ? 1 : 0;
    alone += call.alone && !is_shared_ ? 1 : 0;
    of_session += call.session == session && !is_silent ? 1 : 0;
    STDGATE_CHECK(call.place == call::CallPlace::in_flight && call.is_watched());
    STDGATE_CHECK(call.child == child_.number && call.wire_id == *id);
  }
  STDGATE_CHECK(upkeep == upkeep_ && listening == listening_ && silent == silent_ &&
                bytes == bytes_);
  STDGATE_CHECK(ids == causing_ids_ && alone == alone_ && bound == bound_);
  STDGATE_CHECK(!is_shared_ || session.is_none() || of_session == sessions_.calls_of(session));
}

void AbandonedCalls::add(rpc::WireId id, session::SessionId session) {
  if (calls_.size() == kMaxEntries) {
    overflowed_ = true;
  } else {
    calls_.push_back({id, session});
  }
}

void AbandonedCalls::finish(rpc::WireId id) {
  const auto call = std::find_if(calls_.begin(), calls_.end(),
                                 [id](const AbandonedCall& one) { return one.id == id; });
  if (call == calls_.end()) return;
  *call = calls_.back();
  calls_.pop_back();
}

bool AbandonedCalls::are_all_of(session::SessionId session) const {
  return !overflowed_ &&
         std::all_of(calls_.begin(), calls_.end(),
                     [session](const AbandonedCall& one) { return one.session == session; });
}

session::SessionId AbandonedCalls::some_session() const {
  return calls_.empty() ? session::SessionId() : calls_.front().session;
}

void GivenUpCalls::add(rpc::WireId id, CancelReason why) {
  if (calls_.size() < kMaxKept) calls_.emplace_back();
  calls_[next_] = {id, why};
  next_ = (next_ + 1) % kMaxKept;
}

std::optional<CancelReason> GivenUpCalls::find(rpc::WireId id) const {
  const auto call = std::ranges::find(calls_, id, &GivenUp::id);
  return call == calls_.end() ? std::nullopt : std::optional(call->why);
}

}  // namespace stdgate::pool
