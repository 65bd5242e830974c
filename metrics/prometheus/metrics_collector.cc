#include "metrics/prometheus/metrics_collector.h"

#include <limits>
#include <string>
#include <utility>

namespace stdgate::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;  // sorted by name

class Family {
 public:
  Family(const char* name, const char* help, MetricType type) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }

  void add(Labels labels, uint64_t count) {
    add(std::move(labels)).counter.value = static_cast<double>(count);
  }
  void add(Labels labels, int64_t level) {
    add(std::move(labels)).gauge.value = static_cast<double>(level);
  }
  void add(Labels labels, const Histogram& histogram, const Buckets& buckets) {
    ClientMetric::Histogram& out = add(std::move(labels)).histogram;
    out.sample_sum = histogram.sum_seconds();
    if (const auto kept = histogram.exemplars(); !kept.empty()) {
      collected_.exemplars.resize(family_.metric.size());
      collected_.exemplars.back().assign(kept.begin(), kept.end());
    }
    out.bucket.reserve(buckets.count());
    for (size_t i = 0; i < buckets.count(); ++i) {
      out.sample_count += histogram.counts()[i];
      const bool is_last = i == buckets.bounds().size();
      out.bucket.push_back({out.sample_count, is_last ? std::numeric_limits<double>::infinity()
                                                      : buckets.bounds()[i]});
    }
  }

  void move_to(std::vector<CollectedFamily>& families) && {
    if (!family_.metric.empty()) families.push_back(std::move(collected_));
  }

 private:
  ClientMetric& add(Labels labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  CollectedFamily collected_;
  MetricFamily& family_ = collected_.family;
};

// The families of one store's numbers.
class Families {
 public:
  explicit Families(const MetricsStore& store) : store_(store) {
    for (const BackendMetrics& backend : store.backends()) add(backend);
    for (size_t k = 0; k < kConnectionKindCount; ++k) {
      add(std::string(connection_kind_name(static_cast<ConnectionKind>(k))),
          store.connections()[k]);
    }
    for (size_t r = 0; r < kRefusalCount; ++r) {
      const std::string reason(refusal_name(static_cast<Refusal>(r)));
      refusals_.add({{"reason", reason}}, store.refusals()[r]);
    }
    for (size_t f = 0; f < kHandshakeFailureCount; ++f) {
      const std::string reason(handshake_failure_name(static_cast<HandshakeFailure>(f)));
      handshakes_.add({{"reason", reason}}, store.handshake_failures()[f]);
    }
    for (size_t o = 0; o < kFetchOutcomeCount; ++o) {
      const std::string outcome(fetch_outcome_name(static_cast<FetchOutcome>(o)));
      key_fetches_.add({{"outcome", outcome}}, store.key_fetches()[o]);
    }
  }

  std::vector<CollectedFamily> take() && {
    std::vector<CollectedFamily> families;
    for (Family* family : {&notifications_, &mcp_requests_, &cache_hits_,  &dropped_,  &rejected_,
                           &starts_,        &exits_,        &bytes_,       &refusals_, &handshakes_,
                           &key_fetches_,   &breakers_,     &in_flight_,   &sessions_, &places_,
                           &parked_,        &parked_calls_, &parked_ends_, &returns_,  &revived_,
                           &revival_,       &children_,     &connections_, &requests_, &tools_,
                           &child_,         &queue_,        &child_start_}) {
      std::move(*family).move_to(families);
    }
    return families;
  }

 private:
  void add(const BackendMetrics& backend) {
    const Labels labels = {{"backend", backend.name}};
    in_flight_.add(labels, backend.in_flight);
    parked_calls_.add(labels, backend.parked_calls);
    cache_hits_.add(labels, backend.cache_hits);
    breakers_.add(labels, int64_t{backend.open_breakers});
    places_.add(labels, int64_t{backend.session_places});
    revival_.add(labels, backend.revival, store_.buckets());
    queue_.add(labels, backend.queue, store_.buckets());
    child_start_.add(labels, backend.child_start, store_.buckets());
    const auto with = [&](const char* label, std::string_view value) {
      return Labels{{"backend", backend.name}, {label, std::string(value)}};
    };
    for (size_t i = 0; i < kDropReasonCount; ++i) {
      const auto reason = drop_reason_name(static_cast<DropReason>(i));
      dropped_.add(with("reason", reason), backend.dropped[i]);
    }
    for (size_t i = 0; i < kRejectionCount; ++i) {
      const auto reason = rejection_name(static_cast<Rejection>(i));
      rejected_.add(with("reason", reason), backend.rejected[i]);
    }
    // `dead` is no state of a child, but where it comes from and goes to.
    for (size_t i = 0; i < static_cast<size_t>(ChildState::dead); ++i) {
      const auto state = child_state_name(static_cast<ChildState>(i));
      children_.add(with("state", state), backend.children[i]);
    }
    for (size_t i = 0; i < kSessionStateCount; ++i) {
      const auto state = session_state_name(static_cast<SessionState>(i));
      sessions_.add(with("state", state), backend.sessions[i]);
    }
    for (size_t i = 0; i < kParkReasonCount; ++i) {
      const auto reason = park_reason_name(static_cast<ParkReason>(i));
      parked_.add(with("reason", reason), backend.parked[i]);
    }
    for (size_t i = 0; i < kParkedEndCount; ++i) {
      const auto end = parked_end_name(static_cast<ParkedEnd>(i));
      parked_ends_.add(with("end", end), backend.parked_ends[i]);
    }
    for (size_t i = 0; i < kReturnEndCount; ++i) {
      const auto end = return_end_name(static_cast<ReturnEnd>(i));
      returns_.add(with("end", end), backend.returns[i]);
    }
    for (size_t i = 0; i < kRevivalOutcomeCount; ++i) {
      const auto outcome = revival_outcome_name(static_cast<RevivalOutcome>(i));
      revived_.add(with("outcome", outcome), backend.revived[i]);
    }
    for (size_t i = 0; i < kStartReasonCount; ++i) {
      const auto reason = start_reason_name(static_cast<StartReason>(i));
      starts_.add(with("reason", reason), backend.starts[i]);
    }
    for (size_t i = 0; i < kExitReasonCount; ++i) {
      const auto reason = exit_reason_name(static_cast<ExitReason>(i));
      exits_.add(with("reason", reason), backend.exits[i]);
    }
    add_eras(backend);
    for (const MethodMetrics& method : backend.methods) add(backend.name, method);
    for (const ToolMetrics& tool : backend.tools) add(backend.name, tool);
  }

  void add_eras(const BackendMetrics& backend) {
    for (const Era client : {Era::legacy, Era::modern}) {
      for (const std::optional<Era> child :
           {std::optional(Era::legacy), std::optional(Era::modern), std::optional<Era>()}) {
        const uint64_t count = backend.mcp_requests[mcp_requests_at(client, child)];
        if (count == 0) continue;
        mcp_requests_.add({{"backend", backend.name},
                           {"child_era", std::string(child ? era_name(*child) : "none")},
                           {"client_era", std::string(era_name(client))}},
                          count);
      }
    }
  }

  void add(const std::string& backend, const MethodMetrics& method) {
    for (size_t t = 0; t < kTransportCount; ++t) {
      const auto transport = transport_name(static_cast<Transport>(t));
      for (size_t o = 0; o < Outcome::kCount; ++o) {
        const Histogram* histogram = store_.find(method.requests[t][o]);
        if (histogram == nullptr) continue;
        requests_.add({{"backend", backend},
                       {"method", method.name},
                       {"outcome", std::string(Outcome::at(o).name())},
                       {"transport", std::string(transport)}},
                      *histogram, store_.buckets());
      }
    }
    if (const Histogram* histogram = store_.find(method.child)) {
      child_.add({{"backend", backend}, {"method", method.name}}, *histogram, store_.buckets());
    }
    for (size_t d = 0; d < kDirectionCount; ++d) {
      if (method.notifications[d] == 0) continue;
      notifications_.add({{"backend", backend},
                          {"direction", std::string(direction_name(static_cast<Direction>(d)))},
                          {"method", method.name}},
                         method.notifications[d]);
    }
  }

  void add(const std::string& backend, const ToolMetrics& tool) {
    for (size_t o = 0; o < Outcome::kCount; ++o) {
      const Histogram* histogram = store_.find(tool.calls[o]);
      if (histogram == nullptr) continue;
      tools_.add({{"backend", backend},
                  {"outcome", std::string(Outcome::at(o).name())},
                  {"tool", tool.name}},
                 *histogram, store_.buckets());
    }
  }

  void add(const std::string& transport, const ConnectionMetrics& metrics) {
    connections_.add({{"transport", transport}}, metrics.open);
    for (size_t f = 0; f < kFlowCount; ++f) {
      const std::string direction(flow_name(static_cast<Flow>(f)));
      bytes_.add({{"direction", direction}, {"transport", transport}}, metrics.bytes[f]);
    }
  }

  const MetricsStore& store_;
  Family requests_{"stdgate_request_duration_seconds",
                   "Time from a request's arrival to its answer", MetricType::Histogram};
  Family tools_{"stdgate_tool_duration_seconds",
                "Time from the arrival of a tool's call to its answer", MetricType::Histogram};
  Family child_{"stdgate_child_duration_seconds",
                "Time from a request's writing to the child until it was answered",
                MetricType::Histogram};
  Family queue_{"stdgate_queue_duration_seconds", "Time that requests waited for a child",
                MetricType::Histogram};
  Family child_start_{"stdgate_child_start_duration_seconds",
                      "Time from a child's start until it was ready", MetricType::Histogram};
  Family in_flight_{"stdgate_requests_in_flight",
                    "Requests that have arrived and are not answered yet", MetricType::Gauge};
  Family sessions_{"stdgate_sessions", "Open sessions by state", MetricType::Gauge};
  Family breakers_{"stdgate_breaker_open",
                   "1 while calls are refused, as the children of the backend keep failing",
                   MetricType::Gauge};
  Family places_{"stdgate_session_places", "Children that sessions may have at a time",
                 MetricType::Gauge};
  Family parked_{"stdgate_sessions_parked_total", "Sessions that have lost or given up their child",
                 MetricType::Counter};
  Family cache_hits_{"stdgate_mcp_cache_hits_total",
                     "Requests that were answered with what a child has answered before",
                     MetricType::Counter};
  Family parked_calls_{"stdgate_parked_calls", "Calls that wait for input of their clients",
                       MetricType::Gauge};
  Family parked_ends_{"stdgate_parked_calls_ended_total",
                      "Calls that have waited for input of their clients", MetricType::Counter};
  Family returns_{"stdgate_mcp_returns_total",
                  "Requests that bring back what a child has given out", MetricType::Counter};
  Family revived_{"stdgate_sessions_revived_total", "Parked sessions that were to get a child",
                  MetricType::Counter};
  Family revival_{"stdgate_session_revival_duration_seconds",
                  "Time from a parked session's request until its new child was ready for it",
                  MetricType::Histogram};
  Family children_{"stdgate_children", "Child processes by state", MetricType::Gauge};
  Family connections_{"stdgate_connections", "Open client connections", MetricType::Gauge};
  Family notifications_{"stdgate_notifications_total", "Notifications passed on",
                        MetricType::Counter};
  Family mcp_requests_{"stdgate_mcp_requests_total",
                       "Requests of MCP clients, by the eras of client and child",
                       MetricType::Counter};
  Family dropped_{"stdgate_messages_dropped_total", "Messages that were passed on to nobody",
                  MetricType::Counter};
  Family rejected_{"stdgate_rejected_total",
                   "Messages and sessions refused by rules and by limits of one client",
                   MetricType::Counter};
  Family starts_{"stdgate_child_starts_total", "Child processes started", MetricType::Counter};
  Family exits_{"stdgate_child_exits_total",
                "Child processes ended; asked is no failure, nor is "
                "exit_zero when a session ended its own child",
                MetricType::Counter};
  Family bytes_{"stdgate_bytes_total", "Bytes received from clients (in) and sent to them (out)",
                MetricType::Counter};
  Family refusals_{"stdgate_http_refusals_total",
                   "HTTP requests answered by an error before they became calls",
                   MetricType::Counter};
  Family handshakes_{"stdgate_tls_handshake_failures_total", "TLS handshakes that failed",
                     MetricType::Counter};
  Family key_fetches_{"stdgate_key_fetches_total",
                      "How it went when keys of issuers of tokens were fetched",
                      MetricType::Counter};
};

}  // namespace

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores) {
  if (stores.empty()) return {};
  // A single store is added up too: a method may be called "_other", as those without a place are.
  MetricsStore sum(stores.front().buckets().bounds());
  for (const MetricsStore& store : stores) sum.add(store);
  return Families(sum).take();
}

}  // namespace stdgate::metrics
