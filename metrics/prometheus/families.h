// Families: what is counted, a row each. The store, adding up, the texts of a scrape and
// docs/metrics.md follow from the rows. A new metric is a row here, and the call of the Observer
// that counts it (metrics_store.cc).
//
// A family has a cell for each combination of its own labels' values, for each thing of its scope:
// each backend, say. A cell is a number or a histogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/observer.h"

namespace stdgate::metrics {

enum class MetricKind : uint8_t { counter, gauge, histogram };

// What a series is of, and the labels that say which one: `transport`; `backend`; `backend` and
// `method`; `backend` and `tool`.
enum class Scope : uint8_t { gateway, connection, backend, method, tool };

// A label of a family, whose values are a fixed list.
struct ValueList {
  std::string_view label{};  // empty: none
  size_t count = 1;
  std::string_view (*value)(size_t index) = nullptr;
};

enum class Family : uint8_t {
  requests,
  tools,
  child,
  queue,
  in_flight,
  mcp_requests,
  cache_hits,
  remembered_answers,
  check_failures,
  pins,
  returns,
  questions,
  question,
  parked_calls,
  parked_ends,
  notifications,
  dropped,
  rejected,
  children,
  child_start,
  starts,
  exits,
  replaced,
  replacement_waits,
  breakers,
  sessions,
  places,
  parked,
  revived,
  revival,
  connections,
  bytes,
  refusals,
  handshakes,
  key_fetches,
};

// A family of metrics: a row of families().
struct FamilyRow {
  Family id;
  std::string_view name;
  MetricKind kind;
  Scope scope;
  std::array<ValueList, 2> labels;  // sorted
  bool is_sparse;                   // a series exists from its first use on; else from the start
  std::string_view help;
  std::string_view note{};  // Markdown: what the page says besides

  [[nodiscard]] constexpr size_t cells() const { return labels[0].count * labels[1].count; }
  [[nodiscard]] constexpr bool is_histogram() const { return kind == MetricKind::histogram; }
};

// All of them, by Family.
std::span<const FamilyRow> families();

// The cell of a pair of values.
size_t cell_of(Family family, size_t first, size_t second);
// The era of a child where there may be none, as a value.
constexpr size_t era_or_none(std::optional<PeerKind> peer_kind) {
  return peer_kind ? static_cast<size_t>(*peer_kind) : kPeerKindCount;
}

// The first cell of a family, counted within its scope: among the numbers, or among the histograms.
size_t offset_of(Family family);
size_t numbers_of(Scope scope);
size_t histograms_of(Scope scope);

}  // namespace stdgate::metrics
