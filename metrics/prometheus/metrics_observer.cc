#include "metrics/prometheus/metrics_observer.h"

#include <optional>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/base/visible_text.h"

namespace stdgate::metrics {
namespace {

template <class Enum>
size_t index_of(Enum value) {
  return static_cast<size_t>(value);
}

// Stores the name of `id` in a list by ids. Clients choose names, so what a terminal would obey is
// escaped. Names that become equal by that are one series in the collector.
template <class Named>
void name_one(std::vector<Named>& all, NameId id, std::string_view name) {
  if (all.size() <= id) all.resize(id + size_t{1});
  all[id].name = visible(name, VisibleText::lines);
}

// The first stands for those that have no place.
template <class Named>
Named& one_of(std::vector<Named>& all, NameId id) {
  return all[id < all.size() ? id : kOtherName];
}

}  // namespace

void MetricsObserver::on_backend(BackendId backend, std::string_view name) {
  STDGATE_CHECK(backend == store_.backends().size());
  store_.add_backend(name);
}

void MetricsObserver::on_method(BackendId backend, MethodId method, std::string_view name) {
  name_one(store_.backend(backend).methods, method, name);
}

void MetricsObserver::on_tool(BackendId backend, ToolId tool, std::string_view name) {
  name_one(store_.backend(backend).tools, tool, name);
}

void MetricsObserver::on_call_started(BackendId backend) { ++store_.backend(backend).in_flight; }

void MetricsObserver::on_call_finished(const CallRecord& call) {
  BackendMetrics& backend = store_.backend(call.backend);
  MethodMetrics& method = one_of(backend.methods, call.method);
  --backend.in_flight;
  std::optional<Exemplar> kept;
  if (call.trace != nullptr && call.trace->is_sampled()) {
    kept = {call.trace->trace_id, {}, call.arrived_at + call.total};
  }
  const Exemplar* const sampled = kept ? &*kept : nullptr;
  store_.observe(method.requests[index_of(call.transport)][call.outcome.index()], call.total,
                 sampled);
  if (call.client_era) {
    ++backend.mcp_requests[mcp_requests_at(*call.client_era, call.child_era)];
  }
  if (call.tool) {
    store_.observe(one_of(backend.tools, *call.tool).calls[call.outcome.index()], call.total,
                   sampled);
  }
  // A call that was refused at once never stood in a queue.
  if (call.reached_child || call.queued > Duration::zero()) {
    store_.observe(backend.queue, call.queued);
  }
  if (call.reached_child) store_.observe(method.child, call.child, sampled);
}

void MetricsObserver::on_notification(BackendId backend, MethodId method, Direction direction) {
  ++one_of(store_.backend(backend).methods, method).notifications[index_of(direction)];
}

void MetricsObserver::on_dropped(BackendId backend, DropReason reason) {
  ++store_.backend(backend).dropped[index_of(reason)];
}

void MetricsObserver::on_rejected(BackendId backend, Rejection reason) {
  ++store_.backend(backend).rejected[index_of(reason)];
}

void MetricsObserver::on_child_state(BackendId backend, ChildState from, ChildState to) {
  auto& children = store_.backend(backend).children;
  --children[index_of(from)];
  ++children[index_of(to)];
}

void MetricsObserver::on_child_started(BackendId backend, StartReason reason) {
  ++store_.backend(backend).starts[index_of(reason)];
}

void MetricsObserver::on_child_ready(BackendId backend, Duration since_start) {
  store_.observe(store_.backend(backend).child_start, since_start);
}

void MetricsObserver::on_child_exited(BackendId backend, ExitReason reason) {
  ++store_.backend(backend).exits[index_of(reason)];
}

void MetricsObserver::on_breaker(BackendId backend, bool open) {
  uint32_t& open_ones = store_.backend(backend).open_breakers;
  open ? ++open_ones : --open_ones;
}

void MetricsObserver::on_session_places(BackendId backend, uint32_t places) {
  store_.backend(backend).session_places = places;
}

void MetricsObserver::on_session_opened(BackendId backend) {
  ++store_.backend(backend).sessions[index_of(SessionState::live)];
}

void MetricsObserver::on_session_state(BackendId backend, SessionState from, SessionState to) {
  auto& sessions = store_.backend(backend).sessions;
  --sessions[index_of(from)];
  ++sessions[index_of(to)];
}

void MetricsObserver::on_session_parked(BackendId backend, ParkReason reason) {
  ++store_.backend(backend).parked[index_of(reason)];
}

void MetricsObserver::on_call_parked(BackendId backend) { ++store_.backend(backend).parked_calls; }

void MetricsObserver::on_parked_call_ended(BackendId backend, ParkedEnd end) {
  BackendMetrics& metrics = store_.backend(backend);
  --metrics.parked_calls;
  ++metrics.parked_ends[index_of(end)];
}

void MetricsObserver::on_return(BackendId backend, ReturnEnd end) {
  ++store_.backend(backend).returns[index_of(end)];
}

void MetricsObserver::on_cache_hit(BackendId backend) { ++store_.backend(backend).cache_hits; }

void MetricsObserver::on_session_revived(BackendId backend, RevivalOutcome outcome,
                                         Duration since_request) {
  BackendMetrics& metrics = store_.backend(backend);
  ++metrics.revived[index_of(outcome)];
  store_.observe(metrics.revival, since_request);
}

void MetricsObserver::on_session_closed(BackendId backend, SessionState state) {
  --store_.backend(backend).sessions[index_of(state)];
}

void MetricsObserver::on_connection_opened(ConnectionKind kind) { ++store_.connections(kind).open; }

void MetricsObserver::on_connection_closed(ConnectionKind kind) { --store_.connections(kind).open; }

void MetricsObserver::on_bytes(ConnectionKind kind, Flow flow, size_t count) {
  store_.connections(kind).bytes[index_of(flow)] += count;
}

void MetricsObserver::on_refused(Refusal refusal) { ++store_.refusals(refusal); }

void MetricsObserver::on_handshake_failed(HandshakeFailure failure) {
  ++store_.handshake_failures(failure);
}

void MetricsObserver::on_keys_fetched(FetchOutcome outcome) { ++store_.key_fetches(outcome); }

}  // namespace stdgate::metrics
