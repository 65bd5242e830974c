#include "metrics/prometheus/metrics_store.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"

namespace stdgate::metrics {

namespace {

// The longest duration that is, in seconds, not above the bound.
Duration longest_within(double bound) {
  if (bound > to_seconds(Buckets::kEndless)) return Duration::max();
  Duration longest(std::llround(bound * 1e9));
  while (to_seconds(longest) > bound) --longest;
  while (to_seconds(longest + Duration(1)) <= bound) ++longest;
  return longest;
}

// Calls `add_one` for each of `more` with the one of `all` that has its name, or is made for it.
template <class AddOne>
void match_by_name(std::vector<Series>& all, const std::vector<Series>& more, AddOne add_one) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < all.size(); ++i) places.emplace(all[i].name, i);
  for (const Series& one : more) {
    const auto [place, is_new] = places.emplace(one.name, all.size());
    if (is_new) all.emplace_back(one.scope(), one.name);
    add_one(all[place->second], one);
  }
}

}  // namespace

Buckets::Buckets(std::span<const double> bounds) : bounds_(bounds.begin(), bounds.end()) {
  for (const double bound : bounds_) longest_.push_back(longest_within(bound));
  longest_.push_back(Duration::max());
  for (size_t width = 1; width < kWidths; ++width) {
    const Duration shortest(int64_t{1} << (width - 1));
    const auto first = std::lower_bound(longest_.begin(), longest_.end(), shortest);
    first_by_width_[width] = static_cast<uint32_t>(first - longest_.begin());
  }
}

size_t Buckets::index_of(Duration duration) const {
  size_t index =
      first_by_width_[static_cast<size_t>(std::bit_width(static_cast<uint64_t>(duration.count())))];
  while (duration > longest_[index]) ++index;
  return index;
}

void Histogram::observe(const Buckets& buckets, Duration duration, const Exemplar* sampled) {
  duration = std::max(duration, Duration::zero());
  const size_t bucket = buckets.index_of(duration);
  ++counts_[bucket];
  sum_ns_ += static_cast<uint64_t>(duration.count());
  if (sampled != nullptr) keep({sampled->trace_id, duration, sampled->at}, bucket);
}

void Histogram::add(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  sum_ns_ += other.sum_ns_;
  for (size_t i = 0; i < other.exemplars_.size(); ++i) {
    if (!other.exemplars_[i].is_none()) keep(other.exemplars_[i], i);
  }
}

BackendSeries::BackendSeries(std::string_view backend) : Series(Scope::backend, backend) {
  methods.emplace_back(Scope::method, "_other");
  tools.emplace_back(Scope::tool, "_other");
}

MetricsStore::MetricsStore(std::span<const double> bounds) : buckets_(bounds) {
  for (size_t i = 0; i < kConnectionKindCount; ++i) {
    connections_.emplace_back(Scope::connection,
                              connection_kind_name(static_cast<ConnectionKind>(i)));
  }
}

BackendSeries& MetricsStore::add_backend(std::string_view name) {
  BackendSeries& backend = backends_.emplace_back(name);
  for (const FamilyRow& row : families()) {
    if (row.scope != Scope::backend || !row.is_histogram() || row.is_sparse) continue;
    for (size_t i = 0; i < row.cells(); ++i) backend.slot(row.id, i).number = make_histogram();
  }
  return backend;
}

uint32_t MetricsStore::make_histogram() {
  histograms_.emplace_back(buckets_);
  return static_cast<uint32_t>(histograms_.size());
}

void MetricsStore::observe(HistogramSlot& slot, Duration duration, const Exemplar* sampled) {
  if (slot.number == 0) slot.number = make_histogram();
  histograms_[slot.number - 1].observe(buckets_, duration, sampled);
}

void MetricsStore::add(const MetricsStore& other) {
  STDGATE_CHECK(buckets_ == other.buckets_);
  const auto add_one = [&](Series& sum, const Series& more) { add(sum, more, other); };
  add_one(gateway_, other.gateway_);
  for (size_t i = 0; i < connections_.size(); ++i) add_one(connections_[i], other.connections_[i]);
  for (size_t id = 0; id < other.backends_.size(); ++id) {
    const BackendSeries& more = other.backends_[id];
    if (id == backends_.size()) add_backend(more.name);
    BackendSeries& sum = backends_[id];
    STDGATE_CHECK(sum.name == more.name);
    add_one(sum, more);
    match_by_name(sum.methods, more.methods, add_one);
    match_by_name(sum.tools, more.tools, add_one);
  }
}

void MetricsStore::add(Series& sum, const Series& more, const MetricsStore& other) {
  for (size_t i = 0; i < sum.numbers_.size(); ++i) sum.numbers_[i] += more.numbers_[i];
  for (size_t i = 0; i < sum.slots_.size(); ++i) {
    const Histogram* const histogram = other.find(more.slots_[i]);
    if (histogram == nullptr) continue;
    if (sum.slots_[i].number == 0) sum.slots_[i].number = make_histogram();
    histograms_[sum.slots_[i].number - 1].add(*histogram);
  }
}

namespace {

template <class Enum>
size_t index_of(Enum value) {
  return static_cast<size_t>(value);
}

// Stores the name of `id` in a list by ids. Clients choose names, so what a terminal would obey is
// escaped. Names that become equal by that are one series in the collector.
void name_one(std::vector<Series>& all, NameId id, std::string_view name) {
  while (all.size() <= id) all.emplace_back(all.front().scope());
  all[id].name = visible(name, VisibleText::lines);
}

// The first one stands for all methods without a place of their own.
Series& one_of(std::vector<Series>& all, NameId id) {
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

void MetricsObserver::on_call_started(BackendId backend) {
  ++store_.backend(backend).number(Family::in_flight);
}

void MetricsObserver::on_call_finished(const CallRecord& call) {
  BackendSeries& backend = store_.backend(call.backend);
  Series& method = one_of(backend.methods, call.method);
  --backend.number(Family::in_flight);
  std::optional<Exemplar> kept;
  if (call.trace != nullptr && call.trace->is_sampled()) {
    kept = {call.trace->trace_id, {}, call.arrived_at + call.total};
  }
  const Exemplar* const sampled = kept ? &*kept : nullptr;
  const size_t outcome = call.outcome.index();
  const size_t way = cell_of(Family::requests, outcome, index_of(call.transport));
  store_.observe(method.slot(Family::requests, way), call.total, sampled);
  if (call.client_kind) {
    ++backend.number(
        Family::mcp_requests,
        cell_of(Family::mcp_requests, era_or_none(call.child_kind), index_of(*call.client_kind)));
  }
  if (call.tool) {
    store_.observe(one_of(backend.tools, *call.tool).slot(Family::tools, outcome), call.total,
                   sampled);
  }
  // A call that was refused at once never stood in a queue.
  if (call.reached_child || call.queued > Duration::zero()) {
    store_.observe(backend.slot(Family::queue), call.queued);
  }
  if (call.reached_child) store_.observe(method.slot(Family::child), call.child, sampled);
}

void MetricsObserver::on_notification(BackendId backend, MethodId method, Direction direction) {
  Series& series = one_of(store_.backend(backend).methods, method);
  ++series.number(Family::notifications, index_of(direction));
}

void MetricsObserver::on_dropped(BackendId backend, DropReason reason) {
  ++store_.backend(backend).number(Family::dropped, index_of(reason));
}

void MetricsObserver::on_rejected(BackendId backend, Rejection reason) {
  ++store_.backend(backend).number(Family::rejected, index_of(reason));
}

void MetricsObserver::on_child_state(BackendId backend, ChildState from, ChildState to) {
  Series& series = store_.backend(backend);
  // `dead` stands for what is not there.
  if (from != ChildState::dead) --series.number(Family::children, index_of(from));
  if (to != ChildState::dead) ++series.number(Family::children, index_of(to));
}

void MetricsObserver::on_child_started(BackendId backend, StartReason reason) {
  ++store_.backend(backend).number(Family::starts, index_of(reason));
}

void MetricsObserver::on_child_ready(BackendId backend, Duration since_start) {
  store_.observe(store_.backend(backend).slot(Family::child_start), since_start);
}

void MetricsObserver::on_child_exited(BackendId backend, ExitReason reason) {
  ++store_.backend(backend).number(Family::exits, index_of(reason));
}

void MetricsObserver::on_child_replaced(BackendId backend, ReplaceReason reason) {
  ++store_.backend(backend).number(Family::replaced, index_of(reason));
}

void MetricsObserver::on_replacement_waits(BackendId backend, ReplaceReason reason) {
  ++store_.backend(backend).number(Family::replacement_waits, index_of(reason));
}

void MetricsObserver::on_breaker(BackendId backend, bool open) {
  uint64_t& open_ones = store_.backend(backend).number(Family::breakers);
  open ? ++open_ones : --open_ones;
}

void MetricsObserver::on_session_places(BackendId backend, uint32_t places) {
  store_.backend(backend).number(Family::places) = places;
}

void MetricsObserver::on_session_opened(BackendId backend) {
  ++store_.backend(backend).number(Family::sessions, index_of(SessionState::live));
}

void MetricsObserver::on_session_state(BackendId backend, SessionState from, SessionState to) {
  Series& series = store_.backend(backend);
  --series.number(Family::sessions, index_of(from));
  ++series.number(Family::sessions, index_of(to));
}

void MetricsObserver::on_session_parked(BackendId backend, ParkReason reason) {
  ++store_.backend(backend).number(Family::parked, index_of(reason));
}

void MetricsObserver::on_question_asked(BackendId backend) {
  ++store_.backend(backend).number(Family::questions);
}

void MetricsObserver::on_question_ended(BackendId backend, MethodId method, QuestionEnd end,
                                        Duration since_asked) {
  BackendSeries& series = store_.backend(backend);
  --series.number(Family::questions);
  store_.observe(one_of(series.methods, method).slot(Family::question, index_of(end)), since_asked);
}

void MetricsObserver::on_call_parked(BackendId backend) {
  ++store_.backend(backend).number(Family::parked_calls);
}

void MetricsObserver::on_parked_call_ended(BackendId backend, ParkedEnd end) {
  Series& series = store_.backend(backend);
  --series.number(Family::parked_calls);
  ++series.number(Family::parked_ends, index_of(end));
}

void MetricsObserver::on_return(BackendId backend, ReturnEnd end) {
  ++store_.backend(backend).number(Family::returns, index_of(end));
}

void MetricsObserver::on_remembered(BackendId backend) {
  ++store_.backend(backend).number(Family::remembered_answers);
}

void MetricsObserver::on_check_failed(BackendId backend, CheckFailure failure) {
  ++store_.backend(backend).number(Family::check_failures, index_of(failure));
}

void MetricsObserver::on_pins(BackendId backend, PinState state, int64_t change) {
  store_.backend(backend).number(Family::pins, index_of(state)) += static_cast<uint64_t>(change);
}

void MetricsObserver::on_cache_hit(BackendId backend) {
  ++store_.backend(backend).number(Family::cache_hits);
}

void MetricsObserver::on_session_revived(BackendId backend, RevivalOutcome outcome,
                                         Duration since_request) {
  BackendSeries& series = store_.backend(backend);
  ++series.number(Family::revived, index_of(outcome));
  store_.observe(series.slot(Family::revival), since_request);
}

void MetricsObserver::on_session_closed(BackendId backend, SessionState state) {
  --store_.backend(backend).number(Family::sessions, index_of(state));
}

void MetricsObserver::on_connection_opened(ConnectionKind kind) {
  ++store_.connections(kind).number(Family::connections);
}

void MetricsObserver::on_connection_closed(ConnectionKind kind) {
  --store_.connections(kind).number(Family::connections);
}

void MetricsObserver::on_bytes(ConnectionKind kind, Flow flow, size_t count) {
  store_.connections(kind).number(Family::bytes, index_of(flow)) += count;
}

void MetricsObserver::on_refused(Refusal refusal) {
  ++store_.gateway().number(Family::refusals, index_of(refusal));
}

void MetricsObserver::on_handshake_failed(HandshakeFailure failure) {
  ++store_.gateway().number(Family::handshakes, index_of(failure));
}

void MetricsObserver::on_keys_fetched(FetchOutcome outcome) {
  ++store_.gateway().number(Family::key_fetches, index_of(outcome));
}

}  // namespace stdgate::metrics
