// MetricsExposition: everything that is counted, as the text that Prometheus scrapes: what
// MetricsObservers have counted, and what is only read for a scrape.
//
// Owner: the process. The stores belong to its workers; open_metrics.h says what they must have in
// common. take() copies, on the loop's thread. metrics_text() takes some milliseconds when there
// are thousands of series, and may be called on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/account.h"
#include "gateway/base/time.h"
#include "gateway/observer.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

// The kernel's figures of a process, from /proc (proc(5)), for the process_* metrics. Reads a few
// small files, about 50 µs; done for each scrape, never per message.
struct ProcessStats {
  double cpu_seconds = 0;         // user and system
  double start_time_seconds = 0;  // since the epoch
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
};

// Of this process. Nothing when /proc is not mounted or says something unknown.
std::optional<ProcessStats> read_process_stats();

// The counts of spans that the exporter of traces keeps.
struct SpanReadings {
  uint64_t exported = 0;
  uint64_t waiting = 0;
  std::vector<std::pair<std::string_view, uint64_t>> dropped;  // by reason
};

// Readings of the worker, made for each scrape.
struct ScrapeReadings {
  struct BackendUsage {
    std::string backend;
    double cpu_seconds = 0;             // of all children so far, ended ones included
    uint64_t resident_bytes = 0;        // of the living ones
    uint64_t incomplete_sandboxes = 0;  // of those so far that lacked a part of theirs
  };
  struct Certificate {
    std::string listener;  // its address
    std::string file;
    int64_t not_after = 0;  // seconds since the epoch
  };
  struct IssuerKeys {
    std::string issuer;
    double age_seconds = 0;  // since the keys in use came
  };
  struct Member {  // of a virtual server
    std::string server;
    std::string backend;
    bool is_up = false;
    MemberEnds ended{};
  };
  std::vector<BackendUsage> children;
  std::vector<Member> members;
  std::vector<Certificate> certificates;  // of TLS listeners
  std::vector<IssuerKeys> issuers;        // whose keys were fetched
  Duration loop_lag{0};
  double memory_pressure = 0;  // the part of limits.memory that is used
  // Bytes kept for clients and backends, by backend; without a name: at no backend.
  std::vector<std::pair<std::string, HeldBytes>> held;
  uint64_t held_limit = 0;  // limits.buffered
  struct Audit {
    uint64_t lines = 0;
    uint64_t failures = 0;
    uint64_t lost = 0;
    bool is_failing = false;
  };
  std::optional<Audit> audit;         // nothing: no audit
  std::optional<SpanReadings> spans;  // nothing: none are recorded
  struct Reloads {                    // of the configuration
    uint64_t good = 0;
    uint64_t failed = 0;
    bool last_was_good = true;
  };
  Reloads reloads;
};

// All that a text is made of, at one moment. A value.
struct MetricsSnapshot {
  std::vector<MetricsStore> stores;
  ScrapeReadings readings;
  std::string version;  // of the gateway
};

enum class MetricsFormat : uint8_t {
  prometheus,    // the text format 0.0.4
  open_metrics,  // OpenMetrics 1.0.0, with exemplars
};

std::string metrics_text(const MetricsSnapshot& snapshot, MetricsFormat format);

// The rows of the table in docs/metrics.md: name, type, labels, what it is.
std::string metrics_page();

class MetricsExposition {
 public:
  MetricsExposition(std::vector<const MetricsStore*> stores, std::string version,
                    std::function<ScrapeReadings()> read)
      : stores_(std::move(stores)), version_(std::move(version)), read_(std::move(read)) {}

  [[nodiscard]] MetricsSnapshot take() const;

 private:
  const std::vector<const MetricsStore*> stores_;
  const std::string version_;
  const std::function<ScrapeReadings()> read_;
};

}  // namespace stdgate::metrics
