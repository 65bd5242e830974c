#include "gateway/pool/call_table.h"

#include <utility>

#include "gateway/base/check.h"

namespace stdgate::pool {

CallTable::CallTable(const PoolServices& services, uint64_t child)
    : services_(services),
      child_(child),
      calls_(rpc::Correlator<CallPtr>::kMaxEntries),
      max_working_(services.config.pool.max_in_flight) {}

Call& CallTable::open(CallPtr call) {
  Call* const opened = put(std::move(call));
  STDGATE_CHECK(opened != nullptr);
  ++sent_;
  bytes_ += opened->bytes_in;
  return *opened;
}

// Without a caller, as nobody waits for the answer.
Call* CallTable::open_own(TimePoint deadline) {
  CallPtr call = services_.calls.take();
  call->deadline = deadline;
  Call* const opened = put(std::move(call));
  if (opened == nullptr) return nullptr;
  services_.calls.deadlines().add(*opened);
  ++own_;
  return opened;
}

Call* CallTable::put(CallPtr call) {
  Call& opened = *call;
  if (full()) return nullptr;
  const auto id = calls_.open(std::move(call));
  listening_ += opened.listens ? 1 : 0;
  opened.written = services_.core.clock.now();
  opened.child = child_;
  opened.place = CallPlace::in_flight;
  opened.wire_id = *id;
  return &opened;
}

Call& CallTable::replace(rpc::WireId id, CallPtr call) {
  CallPtr& place = calls_.at(id);
  STDGATE_CHECK(!place->caller.is_none() && !call->caller.is_none());
  STDGATE_CHECK(!place->listens && !call->listens);
  call->written = services_.core.clock.now();
  call->child = child_;
  call->child_era = place->child_era;
  call->place = CallPlace::in_flight;
  call->wire_id = id;
  bytes_ += call->bytes_in - place->bytes_in;
  ++sent_;
  place->place = CallPlace::nowhere;
  place = std::move(call);
  return *place;
}

CallPtr CallTable::close(rpc::WireId id) {
  CallPtr call = take(id);
  STDGATE_CHECK(call != nullptr);
  return call;
}

CallPtr CallTable::take(rpc::WireId id) {
  std::optional<CallPtr> taken = calls_.take(id);
  if (!taken) return nullptr;
  CallPtr call = *std::move(taken);
  call->place = CallPlace::nowhere;
  if (call->caller.is_none()) {
    STDGATE_CHECK(own_ > 0);
    --own_;
  }
  if (call->listens) {
    STDGATE_CHECK(listening_ > 0);
    --listening_;
  }
  STDGATE_CHECK(bytes_ >= call->bytes_in);
  bytes_ -= call->bytes_in;
  if (calls_.size() == 0) idle_since_ = services_.core.clock.now();
  return call;
}

std::vector<CallPtr> CallTable::take_all() {
  std::vector<CallPtr> taken;
  while (const auto id = calls_.oldest()) {
    CallPtr call = close(*id);
    if (!call->caller.is_none()) taken.push_back(std::move(call));
  }
  return taken;
}

void CallTable::check_invariants() {
  size_t own = 0;
  size_t listening = 0;
  size_t bytes = 0;
  for (auto id = calls_.oldest(); id; id = calls_.next(*id)) {
    const Call& call = at(*id);
    bytes += call.bytes_in;
    own += call.caller.is_none() ? 1 : 0;
    listening += call.listens ? 1 : 0;
    STDGATE_CHECK(call.place == CallPlace::in_flight && call.is_watched());
    STDGATE_CHECK(call.child == child_ && call.wire_id == *id);
  }
  STDGATE_CHECK(own == own_ && listening == listening_ && bytes == bytes_);
}

}  // namespace stdgate::pool
