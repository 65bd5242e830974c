#include "metrics/prometheus/open_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include "gateway/base/check.h"

namespace stdgate::metrics {

namespace {

using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter:
      return prometheus::MetricType::Counter;
    case MetricKind::gauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::histogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

// Turns the cells of one row into the metrics of its family.
class RowCollector {
 public:
  RowCollector(const FamilyRow& row, const MetricsStore& store) : row_(row), store_(store) {
    collected_ = family_of(row.name, row.help, row.kind);
  }

  // `own`: the labels that say what the series is of.
  void add(const Series& series, const Labels& own) {
    for (size_t cell = 0; cell < row_.cells(); ++cell) {
      if (row_.is_histogram()) {
        const Histogram* const histogram = store_.find(series.slot(row_.id, cell));
        if (histogram != nullptr) add(*histogram, add_metric(own, cell));
        continue;
      }
      const uint64_t number = series.number(row_.id, cell);
      if (number == 0 && row_.is_sparse) continue;
      ClientMetric& metric = add_metric(own, cell);
      if (row_.kind == MetricKind::counter) {
        metric.counter.value = static_cast<double>(number);
      } else {
        metric.gauge.value = static_cast<double>(static_cast<int64_t>(number));
      }
    }
  }

  CollectedFamily take() && { return std::move(collected_); }

 private:
  ClientMetric& add_metric(const Labels& own, size_t cell) {
    ClientMetric& metric = collected_.family.metric.emplace_back();
    metric.label = own;
    const std::array<size_t, 2> values = {cell / row_.labels[1].count, cell % row_.labels[1].count};
    for (size_t i = 0; i < row_.labels.size(); ++i) {
      const ValueList& list = row_.labels[i];
      if (list.label.empty()) continue;
      metric.label.push_back({std::string(list.label), std::string(list.value(values[i]))});
    }
    std::ranges::sort(metric.label, {}, &ClientMetric::Label::name);
    return metric;
  }

  void add(const Histogram& histogram, ClientMetric& metric) {
    ClientMetric::Histogram& out = metric.histogram;
    out.sample_sum = histogram.sum_seconds();
    if (const auto kept = histogram.exemplars(); !kept.empty()) {
      collected_.exemplars.resize(collected_.family.metric.size());
      collected_.exemplars.back().assign(kept.begin(), kept.end());
    }
    const Buckets& buckets = store_.buckets();
    out.bucket.reserve(buckets.count());
    for (size_t i = 0; i < buckets.count(); ++i) {
      out.sample_count += histogram.counts()[i];
      const bool is_last = i == buckets.bounds().size();
      out.bucket.push_back({out.sample_count, is_last ? std::numeric_limits<double>::infinity()
                                                      : buckets.bounds()[i]});
    }
  }

  const FamilyRow& row_;
  const MetricsStore& store_;
  CollectedFamily collected_;
};

void collect_backend(RowCollector& out, Scope scope, const BackendSeries& backend) {
  const ClientMetric::Label own = {"backend", backend.name};
  if (scope == Scope::backend) return out.add(backend, {own});
  const bool is_method = scope == Scope::method;
  for (const Series& series : is_method ? backend.methods : backend.tools) {
    out.add(series, {own, {is_method ? "method" : "tool", series.name}});
  }
}

CollectedFamily collect(const FamilyRow& row, const MetricsStore& store) {
  RowCollector out(row, store);
  if (row.scope == Scope::gateway) {
    out.add(store.gateway(), {});
  } else if (row.scope == Scope::connection) {
    for (const Series& series : store.connections()) out.add(series, {{"transport", series.name}});
  } else {
    for (const BackendSeries& backend : store.backends()) collect_backend(out, row.scope, backend);
  }
  return std::move(out).take();
}

}  // namespace

CollectedFamily family_of(std::string_view name, std::string_view help, MetricKind kind) {
  CollectedFamily collected;
  collected.family.name = name;
  collected.family.help = help;
  collected.family.type = type_of(kind);
  return collected;
}

std::vector<CollectedFamily> collect(std::span<const MetricsStore> stores) {
  if (stores.empty()) return {};
  // A single store is added up too: a method may be called "_other", as those without a place are.
  MetricsStore sum(stores.front().buckets().bounds());
  for (const MetricsStore& store : stores) sum.add(store);
  std::vector<CollectedFamily> families;
  for (const FamilyRow& row : metrics::families()) {
    CollectedFamily collected = collect(row, sum);
    if (!collected.family.metric.empty()) families.push_back(std::move(collected));
  }
  return families;
}

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::string_view kTotal = "_total";
// Units of what is measured here, as names end (section "Unit").
constexpr std::array<std::string_view, 2> kUnits = {"seconds", "bytes"};

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// The shortest text that reads as the same number.
void append_number(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_count(std::string& out, uint64_t count) { out += std::to_string(count); }

// A bound is written as a float always (section "Histogram").
std::string bound_text(double bound) {
  std::string text;
  append_number(text, bound);
  if (text.find_first_of(".eIN") == std::string::npos) text += ".0";
  return text;
}

// `le`: one label more; empty: none.
void append_labels(std::string& out, const Labels& labels, std::string_view le = {}) {
  if (labels.empty() && le.empty()) return;
  char before = '{';
  const auto append = [&](std::string_view name, std::string_view value) {
    out += before;
    out.append(name).append("=\"");
    append_escaped(out, value);
    out += '"';
    before = ',';
  };
  for (const ClientMetric::Label& label : labels) append(label.name, label.value);
  if (!le.empty()) append("le", le);
  out += '}';
}

// ` # {trace_id="…"} 0.07 1700000000.123`
void append_exemplar(std::string& out, const Exemplar& exemplar) {
  using std::chrono::milliseconds;
  TraceContext trace;
  trace.trace_id = exemplar.trace_id;
  out.append(" # {trace_id=\"").append(TraceIdText(trace).view()).append("\"} ");
  append_number(out, to_seconds(exemplar.duration));
  const auto since = exemplar.at.time_since_epoch();
  const int64_t whole = std::chrono::duration_cast<milliseconds>(since).count();
  std::array<char, 32> text;
  const int size =
      std::snprintf(text.data(), text.size(), " %lld.%03lld", static_cast<long long>(whole / 1000),
                    static_cast<long long>(whole % 1000));
  out.append(text.data(), static_cast<size_t>(size));
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    case MetricType::Summary:
    case MetricType::Untyped:
      break;
  }
  STDGATE_CHECK(false);
  return {};
}

void append_description(std::string& out, std::string_view name, const MetricFamily& family) {
  out.append("# TYPE ").append(name).append(" ").append(type_name(family.type)).append("\n");
  for (const std::string_view unit : kUnits) {
    if (!name.ends_with(unit)) continue;
    out.append("# UNIT ").append(name).append(" ").append(unit).append("\n");
  }
  out.append("# HELP ").append(name).append(" ");
  append_escaped(out, family.help);
  out += '\n';
}

void append_histogram(std::string& out, std::string_view name, const ClientMetric& metric,
                      std::span<const Exemplar> exemplars) {
  const ClientMetric::Histogram& histogram = metric.histogram;
  for (size_t i = 0; i < histogram.bucket.size(); ++i) {
    out.append(name).append("_bucket");
    append_labels(out, metric.label, bound_text(histogram.bucket[i].upper_bound));
    out += ' ';
    append_count(out, histogram.bucket[i].cumulative_count);
    if (i < exemplars.size() && !exemplars[i].is_none()) append_exemplar(out, exemplars[i]);
    out += '\n';
  }
  out.append(name).append("_count");
  append_labels(out, metric.label);
  out += ' ';
  append_count(out, histogram.sample_count);
  out.append("\n").append(name).append("_sum");
  append_labels(out, metric.label);
  out += ' ';
  append_number(out, histogram.sample_sum);
  out += '\n';
}

void append_family(std::string& out, const CollectedFamily& collected) {
  const MetricFamily& family = collected.family;
  const bool is_counter = family.type == MetricType::Counter;
  std::string_view name = family.name;
  if (is_counter) {
    STDGATE_CHECK(name.ends_with(kTotal));
    name.remove_suffix(kTotal.size());
  }
  append_description(out, name, family);
  for (size_t i = 0; i < family.metric.size(); ++i) {
    const ClientMetric& metric = family.metric[i];
    if (family.type == MetricType::Histogram) {
      const bool has_any = i < collected.exemplars.size();
      append_histogram(out, name, metric,
                       has_any ? collected.exemplars[i] : std::span<const Exemplar>());
      continue;
    }
    out += family.name;
    append_labels(out, metric.label);
    out += ' ';
    append_number(out, is_counter ? metric.counter.value : metric.gauge.value);
    out += '\n';
  }
}

}  // namespace

std::string open_metrics_text(std::span<const CollectedFamily> families) {
  std::string text;
  for (const CollectedFamily& family : families) append_family(text, family);
  return text.append("# EOF\n");
}

}  // namespace stdgate::metrics
