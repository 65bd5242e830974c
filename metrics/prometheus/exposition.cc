#include "metrics/prometheus/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

#include "metrics/prometheus/metrics_collector.h"
#include "metrics/prometheus/open_metrics.h"
#include "metrics/prometheus/process_stats.h"

namespace stdgate::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(const char* name, const char* help, MetricType type) {
  MetricFamily result;
  result.name = name;
  result.help = help;
  result.type = type;
  return result;
}

void add(MetricFamily& family, double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void push(std::vector<CollectedFamily>& families, MetricFamily family) {
  CollectedFamily& collected = families.emplace_back();
  collected.family = std::move(family);
}

MetricFamily single(const char* name, const char* help, MetricType type, double value,
                    std::vector<ClientMetric::Label> labels = {}) {
  MetricFamily result = family(name, help, type);
  add(result, value, std::move(labels));
  return result;
}

void add_audit(std::vector<CollectedFamily>& families, const ScrapeReadings::Audit& audit) {
  const auto counter = MetricType::Counter;
  push(families, single("stdgate_audit_lines_total", "Lines of the audit", counter,
                        static_cast<double>(audit.lines)));
  push(families, single("stdgate_audit_failures_total",
                        "Attempts to write the audit, or to have it on the disk, that failed",
                        counter, static_cast<double>(audit.failures)));
  push(families, single("stdgate_audit_lost_lines_total",
                        "Lines of the audit that were not written for lack of room", counter,
                        static_cast<double>(audit.lost)));
  push(families, single("stdgate_audit_failing",
                        "1 while the audit cannot be written, and calls are refused for it",
                        MetricType::Gauge, audit.is_failing ? 1 : 0));
}

void add_spans(std::vector<CollectedFamily>& families, const SpanReadings& spans) {
  push(families,
       single("stdgate_trace_spans_exported_total", "Spans that the collector of traces has taken",
              MetricType::Counter, static_cast<double>(spans.exported)));
  MetricFamily dropped = family("stdgate_trace_spans_dropped_total",
                                "Spans that no collector has taken", MetricType::Counter);
  for (const auto& [reason, count] : spans.dropped) {
    add(dropped, static_cast<double>(count), {{"reason", std::string(reason)}});
  }
  push(families, std::move(dropped));
  push(families, single("stdgate_trace_spans_waiting", "Spans that wait to be sent",
                        MetricType::Gauge, static_cast<double>(spans.waiting)));
}

void add_held(std::vector<CollectedFamily>& families, const ScrapeReadings& readings) {
  MetricFamily held = family("stdgate_held_bytes",
                             "Memory of what is kept for clients and backends", MetricType::Gauge);
  for (const auto& [backend, bytes] : readings.held) {
    for (size_t i = 0; i < kHoldingCount; ++i) {
      std::vector<ClientMetric::Label> labels = {
          {"kind", std::string(holding_name(static_cast<Holding>(i)))}};
      if (!backend.empty()) labels.insert(labels.begin(), {"backend", backend});
      add(held, static_cast<double>(bytes.of[i]), labels);
    }
  }
  push(families, std::move(held));
  push(families, single("stdgate_held_limit_bytes", "limits.buffered, or its default",
                        MetricType::Gauge, static_cast<double>(readings.held_limit)));
}

void add_readings(std::vector<CollectedFamily>& families, const ScrapeReadings& readings) {
  MetricFamily cpu =
      family("stdgate_child_cpu_seconds_total", "CPU time of child processes and what they started",
             MetricType::Counter);
  MetricFamily memory = family("stdgate_child_resident_memory_bytes",
                               "Resident memory of child processes", MetricType::Gauge);
  MetricFamily sandboxes =
      family("stdgate_child_incomplete_sandboxes_total",
             "Child processes started without all of their sandbox", MetricType::Counter);
  for (const auto& usage : readings.children) {
    add(cpu, usage.cpu_seconds, {{"backend", usage.backend}});
    add(sandboxes, static_cast<double>(usage.incomplete_sandboxes), {{"backend", usage.backend}});
    add(memory, static_cast<double>(usage.resident_bytes), {{"backend", usage.backend}});
  }
  if (!readings.children.empty()) {
    push(families, std::move(cpu));
    push(families, std::move(memory));
    push(families, std::move(sandboxes));
  }
  MetricFamily expiry = family("stdgate_tls_certificate_expiry_timestamp_seconds",
                               "When a listener's certificate expires, in seconds since the epoch",
                               MetricType::Gauge);
  for (const auto& certificate : readings.certificates) {
    add(expiry, static_cast<double>(certificate.not_after),
        {{"certificate", certificate.file}, {"listener", certificate.listener}});
  }
  if (!readings.certificates.empty()) push(families, std::move(expiry));
  MetricFamily age =
      family("stdgate_issuer_keys_age_seconds",
             "Time since the keys of an issuer of tokens were fetched", MetricType::Gauge);
  for (const auto& keys : readings.issuers) {
    add(age, keys.age_seconds, {{"issuer", keys.issuer}});
  }
  if (!readings.issuers.empty()) push(families, std::move(age));
  push(families,
       single("stdgate_loop_lag_seconds", "How late the event loop came back from its last timer",
              MetricType::Gauge, to_seconds(readings.loop_lag)));
  push(families, single("stdgate_memory_pressure", "Part of limits.memory that is used",
                        MetricType::Gauge, readings.memory_pressure));
  add_held(families, readings);
  MetricFamily reloads = family("stdgate_config_reloads_total",
                                "Times that the configuration was read again", MetricType::Counter);
  add(reloads, static_cast<double>(readings.reloads.good), {{"outcome", "ok"}});
  add(reloads, static_cast<double>(readings.reloads.failed), {{"outcome", "failed"}});
  push(families, std::move(reloads));
  push(families, single("stdgate_config_last_reload_successful",
                        "1 unless the configuration that was read last could not be used",
                        MetricType::Gauge, readings.reloads.last_was_good ? 1 : 0));
  if (readings.audit) add_audit(families, *readings.audit);
  if (readings.spans) add_spans(families, *readings.spans);
}

// Names and meanings as all Prometheus client libraries have them.
void add_process(std::vector<CollectedFamily>& families) {
  const auto stats = read_process_stats();
  if (!stats) return;
  const auto counter = MetricType::Counter;
  const auto gauge = MetricType::Gauge;
  push(families, single("process_cpu_seconds_total", "User and system CPU time of the gateway",
                        counter, stats->cpu_seconds));
  push(families, single("process_resident_memory_bytes", "Resident memory of the gateway", gauge,
                        static_cast<double>(stats->resident_bytes)));
  push(families, single("process_virtual_memory_bytes", "Virtual memory of the gateway", gauge,
                        static_cast<double>(stats->virtual_bytes)));
  push(families, single("process_open_fds", "Open file descriptors", gauge,
                        static_cast<double>(stats->open_fds)));
  push(families, single("process_max_fds", "File descriptors that may be open", gauge,
                        static_cast<double>(stats->max_fds)));
  push(families,
       single("process_start_time_seconds", "When the gateway started, in seconds since the epoch",
              gauge, stats->start_time_seconds));
}

}  // namespace

MetricsSnapshot MetricsExposition::take() const {
  MetricsSnapshot snapshot;
  snapshot.readings = read_();  // first: it may bring the stores up to date
  snapshot.stores.reserve(stores_.size());
  for (const MetricsStore* store : stores_) snapshot.stores.push_back(*store);
  snapshot.version = version_;
  return snapshot;
}

std::string metrics_text(const MetricsSnapshot& snapshot, MetricsFormat format) {
  std::vector<CollectedFamily> families = collect(snapshot.stores);
  add_readings(families, snapshot.readings);
  add_process(families);
  push(families, single("stdgate_build_info", "The version that runs; always 1", MetricType::Gauge,
                        1, {{"version", snapshot.version}}));
  if (format == MetricsFormat::open_metrics) return open_metrics_text(families);
  std::vector<MetricFamily> plain;
  plain.reserve(families.size());
  for (CollectedFamily& collected : families) plain.push_back(std::move(collected.family));
  return prometheus::TextSerializer().Serialize(plain);
}

}  // namespace stdgate::metrics
