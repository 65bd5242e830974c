// MetricsStore: the numbers that a gateway counts, as plain integers: a value that can be copied,
// and added to another.
//
// Owner: a MetricsObserver, which fills it on its thread; other threads read copies only.
// A series of a method or tool exists from its first use on; what has a fixed list of labels
// (states, reasons) exists with its backend, at zero, so that a rate sees the first event.
// Limit: labels come from ids alone, so whoever gives the ids bounds their number.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/observer.h"
#include "metrics/prometheus/buckets.h"
#include "metrics/prometheus/histogram.h"

namespace stdgate::metrics {

// A place for one that a store makes when it is first used.
struct HistogramSlot {
  uint32_t number = 0;  // from 1; 0: not used yet
};

struct MethodMetrics {
  std::string name;
  std::array<std::array<HistogramSlot, Outcome::kCount>, kTransportCount> requests{};
  HistogramSlot child;
  std::array<uint64_t, kDirectionCount> notifications{};
};

struct ToolMetrics {
  std::string name;
  std::array<HistogramSlot, Outcome::kCount> calls{};
};

struct BackendMetrics {
  BackendMetrics(std::string_view backend_name, const Buckets& buckets);

  std::string name;
  std::vector<MethodMetrics> methods;  // by MethodId; the first is kOtherMethod
  std::vector<ToolMetrics> tools;      // by ToolId; the first is kOtherTool
  int64_t in_flight = 0;
  uint32_t open_breakers = 0;
  uint32_t session_places = 0;
  std::array<int64_t, kSessionStateCount> sessions{};
  std::array<uint64_t, kParkReasonCount> parked{};
  int64_t parked_calls = 0;
  std::array<uint64_t, kParkedEndCount> parked_ends{};
  std::array<uint64_t, kReturnEndCount> returns{};
  std::array<uint64_t, kRevivalOutcomeCount> revived{};
  Histogram queue;
  Histogram child_start;
  Histogram revival;  // of parked sessions
  // MCP's requests, by the era of client and child in one: see mcp_requests_at().
  std::array<uint64_t, kEraCount*(kEraCount + 1)> mcp_requests{};
  uint64_t cache_hits = 0;  // of these
  std::array<uint64_t, kDropReasonCount> dropped{};
  std::array<uint64_t, kRejectionCount> rejected{};
  std::array<int64_t, kChildStateCount> children{};  // of `dead` it means nothing
  std::array<uint64_t, kStartReasonCount> starts{};
  std::array<uint64_t, kExitReasonCount> exits{};
};

// A child of no era: there was none.
constexpr size_t mcp_requests_at(Era client, std::optional<Era> child) {
  const size_t column = child ? static_cast<size_t>(*child) : kEraCount;
  return static_cast<size_t>(client) * (kEraCount + 1) + column;
}

// Of the connections of one kind.
struct ConnectionMetrics {
  int64_t open = 0;
  std::array<uint64_t, kFlowCount> bytes{};
};

class MetricsStore {
 public:
  // Bounds of all histograms, in seconds and ascending.
  explicit MetricsStore(std::span<const double> bounds) : buckets_(bounds) {}

  // Backends come in the order of their ids.
  BackendMetrics& add_backend(std::string_view name);
  [[nodiscard]] BackendMetrics& backend(BackendId id) { return backends_[id]; }
  [[nodiscard]] ConnectionMetrics& connections(ConnectionKind kind) {
    return connections_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] uint64_t& refusals(Refusal refusal) {
    return refusals_[static_cast<size_t>(refusal)];
  }
  [[nodiscard]] uint64_t& handshake_failures(HandshakeFailure failure) {
    return handshake_failures_[static_cast<size_t>(failure)];
  }
  [[nodiscard]] uint64_t& key_fetches(FetchOutcome outcome) {
    return key_fetches_[static_cast<size_t>(outcome)];
  }
  // `sampled` as in Histogram.
  void observe(HistogramSlot& slot, Duration duration, const Exemplar* sampled) {
    if (slot.number == 0) slot.number = make_histogram();
    histograms_[slot.number - 1].observe(buckets_, duration, sampled);
  }
  void observe(Histogram& histogram, Duration duration) { histogram.observe(buckets_, duration); }

  // Adds the numbers of another store with the same bounds and backends. Methods and tools are
  // matched by their names: each store has ids of its own.
  void add(const MetricsStore& other);

  [[nodiscard]] const Buckets& buckets() const { return buckets_; }
  [[nodiscard]] const std::vector<BackendMetrics>& backends() const { return backends_; }
  [[nodiscard]] const std::array<ConnectionMetrics, kConnectionKindCount>& connections() const {
    return connections_;
  }
  [[nodiscard]] const std::array<uint64_t, kRefusalCount>& refusals() const { return refusals_; }
  [[nodiscard]] const std::array<uint64_t, kHandshakeFailureCount>& handshake_failures() const {
    return handshake_failures_;
  }
  [[nodiscard]] const std::array<uint64_t, kFetchOutcomeCount>& key_fetches() const {
    return key_fetches_;
  }
  // Null: not used yet.
  [[nodiscard]] const Histogram* find(HistogramSlot slot) const {
    return slot.number == 0 ? nullptr : &histograms_[slot.number - 1];
  }

 private:
  uint32_t make_histogram();
  void add(HistogramSlot& slot, const Histogram* histogram);
  void add(BackendMetrics& sum, const BackendMetrics& backend, const MetricsStore& other);
  void add(MethodMetrics& sum, const MethodMetrics& method, const MetricsStore& other);
  void add(ToolMetrics& sum, const ToolMetrics& tool, const MetricsStore& other);

  Buckets buckets_;
  std::vector<BackendMetrics> backends_;  // by BackendId
  std::array<ConnectionMetrics, kConnectionKindCount> connections_;
  std::array<uint64_t, kRefusalCount> refusals_{};
  std::array<uint64_t, kHandshakeFailureCount> handshake_failures_{};
  std::array<uint64_t, kFetchOutcomeCount> key_fetches_{};
  std::vector<Histogram> histograms_;  // by HistogramSlot
};

}  // namespace stdgate::metrics
