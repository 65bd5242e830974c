// The metrics, and the observer that counts them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/prometheus/families.h"

namespace stdgate::metrics {

// Buckets: the bounds that all histograms of a store share, and the bucket of a duration.
//
// Job: find a bucket without searching: the number of a duration's bits says where to begin, and
// bounds that are not extremely close leave a step or two. A bound belongs to its own bucket, as
// Prometheus' label `le` says. Owner: a MetricsStore. Limits: bounds above kEndless hold
// everything; the configuration bounds their number.
class Buckets {
 public:
  static constexpr Duration kEndless = std::chrono::hours(24) * 365 * 200;

  // In seconds, positive and ascending.
  explicit Buckets(std::span<const double> bounds);

  [[nodiscard]] std::span<const double> bounds() const { return bounds_; }
  // With the last one, which has no bound.
  [[nodiscard]] size_t count() const { return longest_.size(); }

  // Below count(). `duration` is not negative.
  [[nodiscard]] size_t index_of(Duration duration) const;

  friend bool operator==(const Buckets& a, const Buckets& b) { return a.bounds_ == b.bounds_; }

 private:
  static constexpr size_t kWidths = 64;  // a duration that is not negative has 0 to 63 bits

  std::vector<double> bounds_;
  std::vector<Duration> longest_;                   // in each bucket
  std::array<uint32_t, kWidths> first_by_width_{};  // the bucket of the shortest so wide
};

// Exemplar: a sampled call that fell into a bucket of a histogram, so that one gets from a slow
// bucket to the trace of a call in it (OpenMetrics 1.0, Exemplars).
//
// Owner: the Histogram, which keeps the last one of each bucket.
struct Exemplar {
  std::array<uint8_t, 16> trace_id = TraceContext::kNoTrace;  // kNoTrace: none
  Duration duration{0};
  WallTime at{};  // when the call ended

  [[nodiscard]] bool is_none() const { return trace_id == TraceContext::kNoTrace; }
};

// Histogram: how many durations fell into each bucket, and their sum, exact to the nanosecond; with
// the last sampled call in each, once there was one.
//
// Owner: a MetricsStore, which also has the Buckets; used by one thread, so plain integers do.
class Histogram {
 public:
  explicit Histogram(const Buckets& buckets) : counts_(buckets.count()) {}

  // `buckets`: the ones that the histogram was made with. `sampled`: the call, without its
  // duration; null: not sampled.
  void observe(const Buckets& buckets, Duration duration, const Exemplar* sampled = nullptr);

  // Of two exemplars the later one stays.
  void add(const Histogram& other);

  [[nodiscard]] std::span<const uint64_t> counts() const { return counts_; }  // by bucket
  // By bucket; empty: there was none yet.
  [[nodiscard]] std::span<const Exemplar> exemplars() const { return exemplars_; }
  [[nodiscard]] uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_ns_) / 1e9; }

 private:
  // With many calls under way at once, 64 bits would overflow within weeks.
  __extension__ using Nanoseconds = unsigned __int128;

  void keep(const Exemplar& exemplar, size_t bucket) {
    if (exemplars_.empty()) exemplars_.resize(counts_.size());
    Exemplar& kept = exemplars_[bucket];
    if (kept.is_none() || kept.at <= exemplar.at) kept = exemplar;
  }

  std::vector<uint64_t> counts_;
  std::vector<Exemplar> exemplars_;
  Nanoseconds sum_ns_ = 0;
};

// A place for a histogram, which the store makes when it is first used.
struct HistogramSlot {
  uint32_t number = 0;  // from 1; 0: not used yet
};

// Series: the numbers and histograms of one gateway, backend, method, tool or kind of connection
// (Scope).
class Series {
 public:
  explicit Series(Scope scope, std::string_view series_name = {})
      : name(series_name),
        scope_(scope),
        numbers_(numbers_of(scope)),
        slots_(histograms_of(scope)) {}

  // `cell` is below the row's cells(). A gauge goes below zero for moments only.
  uint64_t& number(Family family, size_t cell = 0) { return numbers_[offset_of(family) + cell]; }
  [[nodiscard]] uint64_t number(Family family, size_t cell = 0) const {
    return numbers_[offset_of(family) + cell];
  }
  HistogramSlot& slot(Family family, size_t cell = 0) { return slots_[offset_of(family) + cell]; }
  [[nodiscard]] HistogramSlot slot(Family family, size_t cell = 0) const {
    return slots_[offset_of(family) + cell];
  }
  [[nodiscard]] Scope scope() const { return scope_; }

  std::string name;

 private:
  friend class MetricsStore;

  Scope scope_;
  std::vector<uint64_t> numbers_;
  std::vector<HistogramSlot> slots_;
};

// BackendSeries: the series of a backend, of its methods, and of its tools.
struct BackendSeries : Series {
  explicit BackendSeries(std::string_view backend);

  std::vector<Series> methods;  // by MethodId; the first is kOtherMethod
  std::vector<Series> tools;    // by ToolId; the first is kOtherTool
};

// MetricsStore: the numbers that a gateway counts, as plain integers: a value that can be copied,
// and added to another.
//
// Owner: a MetricsObserver, which fills it on its thread; other threads read copies only. The rows
// of families.h define its content. Limit: labels come from ids alone, so the source of the ids
// bounds their number.
class MetricsStore {
 public:
  // Bounds of all histograms, in seconds and ascending.
  explicit MetricsStore(std::span<const double> bounds);

  // Backends come in the order of their ids.
  BackendSeries& add_backend(std::string_view name);
  [[nodiscard]] BackendSeries& backend(BackendId id) { return backends_[id]; }
  [[nodiscard]] Series& connections(ConnectionKind kind) {
    return connections_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] Series& gateway() { return gateway_; }
  // `sampled` as in Histogram.
  void observe(HistogramSlot& slot, Duration duration, const Exemplar* sampled = nullptr);

  // Adds the numbers of another store with the same bounds and backends. Methods and tools are
  // matched by their names: each store has ids of its own.
  void add(const MetricsStore& other);

  [[nodiscard]] const Buckets& buckets() const { return buckets_; }
  [[nodiscard]] const std::vector<BackendSeries>& backends() const { return backends_; }
  [[nodiscard]] const std::vector<Series>& connections() const { return connections_; }
  [[nodiscard]] const Series& gateway() const { return gateway_; }
  // Null: not used yet.
  [[nodiscard]] const Histogram* find(HistogramSlot slot) const {
    return slot.number == 0 ? nullptr : &histograms_[slot.number - 1];
  }

 private:
  uint32_t make_histogram();
  void add(Series& sum, const Series& more, const MetricsStore& other);

  Buckets buckets_;
  Series gateway_{Scope::gateway};
  std::vector<Series> connections_;      // by ConnectionKind
  std::vector<BackendSeries> backends_;  // by BackendId
  std::vector<Histogram> histograms_;    // by HistogramSlot
};

// MetricsObserver: counts what happened into a MetricsStore.
//
// A call costs a few array accesses and additions: no lookup by name, no lock, and no allocation
// once its series exist. Owner: the worker; exposition.h makes the text of a scrape.
class MetricsObserver final : public Observer {
 public:
  explicit MetricsObserver(const config::MetricsConfig& config) : store_(config.buckets) {}

  [[nodiscard]] const MetricsStore& store() const { return store_; }

  void on_backend(BackendId backend, std::string_view name) override;
  void on_method(BackendId backend, MethodId method, std::string_view name) override;
  void on_tool(BackendId backend, ToolId tool, std::string_view name) override;
  void on_call_started(BackendId backend) override;
  void on_call_finished(const CallRecord& call) override;
  void on_notification(BackendId backend, MethodId method, Direction direction) override;
  void on_dropped(BackendId backend, DropReason reason) override;
  void on_rejected(BackendId backend, Rejection reason) override;
  void on_child_state(BackendId backend, ChildState from, ChildState to) override;
  void on_child_started(BackendId backend, StartReason reason) override;
  void on_child_ready(BackendId backend, Duration since_start) override;
  void on_child_exited(BackendId backend, ExitReason reason) override;
  void on_child_replaced(BackendId backend, ReplaceReason reason) override;
  void on_replacement_waits(BackendId backend, ReplaceReason reason) override;
  void on_breaker(BackendId backend, bool open) override;
  void on_session_places(BackendId backend, uint32_t places) override;
  void on_session_opened(BackendId backend) override;
  void on_session_state(BackendId backend, SessionState from, SessionState to) override;
  void on_session_parked(BackendId backend, ParkReason reason) override;
  void on_question_asked(BackendId backend) override;
  void on_question_ended(BackendId backend, MethodId method, QuestionEnd end,
                         Duration since_asked) override;
  void on_call_parked(BackendId backend) override;
  void on_parked_call_ended(BackendId backend, ParkedEnd end) override;
  void on_return(BackendId backend, ReturnEnd end) override;
  void on_cache_hit(BackendId backend) override;
  void on_remembered(BackendId backend) override;
  void on_check_failed(BackendId backend, CheckFailure failure) override;
  void on_pins(BackendId backend, PinState state, int64_t change) override;
  void on_session_revived(BackendId backend, RevivalOutcome outcome,
                          Duration since_request) override;
  void on_session_closed(BackendId backend, SessionState state) override;
  void on_connection_opened(ConnectionKind kind) override;
  void on_connection_closed(ConnectionKind kind) override;
  void on_bytes(ConnectionKind kind, Flow flow, size_t count) override;
  void on_refused(Refusal refusal) override;
  void on_handshake_failed(HandshakeFailure failure) override;
  void on_keys_fetched(FetchOutcome outcome) override;

 private:
  MetricsStore store_;
};

}  // namespace stdgate::metrics
