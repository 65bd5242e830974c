#include "metrics/prometheus_observer.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace stdgate {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& counter(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& gauge(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Histogram>& histogram(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

template <class Enum>
size_t index_of(Enum value) {
  return static_cast<size_t>(value);
}

}  // namespace

PrometheusObserver::PrometheusObserver(const MetricsConfig& config)
    : buckets_(config.buckets),
      registry_(std::make_unique<Registry>()),
      request_duration_(histogram(*registry_, "stdgate_request_duration_seconds",
                                  "Time from a request's arrival to its answer")),
      tool_duration_(histogram(*registry_, "stdgate_tool_duration_seconds",
                               "Time from the arrival of a tool's call to its answer")),
      child_duration_(
          histogram(*registry_, "stdgate_child_duration_seconds",
                    "Time from a request's writing to the child until it was answered")),
      queue_duration_(histogram(*registry_, "stdgate_queue_duration_seconds",
                                "Time that requests waited for a child")),
      child_start_duration_(histogram(*registry_, "stdgate_child_start_duration_seconds",
                                      "Time from a child's start until it was ready")),
      requests_in_flight_(gauge(*registry_, "stdgate_requests_in_flight",
                                "Requests that have arrived and are not answered yet")),
      sessions_(gauge(*registry_, "stdgate_sessions", "Open sessions")),
      children_(gauge(*registry_, "stdgate_children", "Child processes by state")),
      notifications_(counter(*registry_, "stdgate_notifications_total", "Notifications passed on")),
      messages_dropped_(counter(*registry_, "stdgate_messages_dropped_total",
                                "Messages that were passed on to nobody")),
      child_starts_(counter(*registry_, "stdgate_child_starts_total", "Child processes started")),
      child_exits_(counter(*registry_, "stdgate_child_exits_total",
                           "Child processes ended; asked is no failure, nor is "
                           "exit_zero when a session ended its own child")) {
  Family<Gauge>& connections = gauge(*registry_, "stdgate_connections", "Open client connections");
  Family<Counter>& bytes = counter(*registry_, "stdgate_bytes_total",
                                   "Bytes received from clients (in) and sent to them (out)");
  for (size_t t = 0; t < kTransportCount; ++t) {
    const std::string transport(transport_name(static_cast<Transport>(t)));
    transports_[t].connections = &connections.Add({{"transport", transport}});
    for (size_t f = 0; f < kFlowCount; ++f) {
      const std::string direction(flow_name(static_cast<Flow>(f)));
      transports_[t].bytes[f] = &bytes.Add({{"transport", transport}, {"direction", direction}});
    }
  }
}

PrometheusObserver::~PrometheusObserver() = default;

Histogram& PrometheusObserver::make(Family<Histogram>& family, const Labels& labels) {
  return family.Add(labels, buckets_);
}

void PrometheusObserver::on_backend(BackendId backend, std::string_view name) {
  if (backends_.size() <= backend) backends_.resize(backend + size_t{1});
  BackendSeries& series = backends_[backend];
  series.name = name;
  name_series(series.methods, kOtherMethod, "_other");
  name_series(series.tools, kOtherTool, "_other");
  series.in_flight = &requests_in_flight_.Add({{"backend", series.name}});
  series.sessions = &sessions_.Add({{"backend", series.name}});
  series.queue = &make(queue_duration_, {{"backend", series.name}});
  series.child_start = &make(child_start_duration_, {{"backend", series.name}});

  const auto with = [&](const char* label, std::string_view value) {
    return Labels{{"backend", series.name}, {label, std::string(value)}};
  };
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    const auto reason = drop_reason_name(static_cast<DropReason>(i));
    series.dropped[i] = &messages_dropped_.Add(with("reason", reason));
  }
  for (size_t i = 0; i < index_of(ChildState::dead); ++i) {
    const auto state = child_state_name(static_cast<ChildState>(i));
    series.children[i] = &children_.Add(with("state", state));
  }
  for (size_t i = 0; i < kStartReasonCount; ++i) {
    const auto reason = start_reason_name(static_cast<StartReason>(i));
    series.starts[i] = &child_starts_.Add(with("reason", reason));
  }
  for (size_t i = 0; i < kExitReasonCount; ++i) {
    const auto reason = exit_reason_name(static_cast<ExitReason>(i));
    series.exits[i] = &child_exits_.Add(with("reason", reason));
  }
}

void PrometheusObserver::on_method(BackendId backend, MethodId method, std::string_view name) {
  name_series(backends_[backend].methods, method, name);
}

void PrometheusObserver::on_tool(BackendId backend, ToolId tool, std::string_view name) {
  name_series(backends_[backend].tools, tool, name);
}

template <class Series>
void PrometheusObserver::name_series(std::vector<Series>& all, NameId id, std::string_view name) {
  if (all.size() <= id) all.resize(id + size_t{1});
  all[id].name = name;
}

template <class Series>
Series& PrometheusObserver::series_in(std::vector<Series>& all, NameId id) {
  return all[id < all.size() ? id : kOtherName];
}

Histogram& PrometheusObserver::request_series(const BackendSeries& series, MethodSeries& method,
                                              Transport transport, Outcome outcome) {
  Histogram*& handle = method.requests[index_of(transport)][outcome.index()];
  if (handle == nullptr) {
    handle = &make(request_duration_, {{"backend", series.name},
                                       {"method", method.name},
                                       {"transport", std::string(transport_name(transport))},
                                       {"outcome", std::string(outcome.name())}});
  }
  return *handle;
}

Histogram& PrometheusObserver::tool_series(BackendSeries& series, ToolId tool, Outcome outcome) {
  ToolSeries& of_tool = series_in(series.tools, tool);
  Histogram*& handle = of_tool.calls[outcome.index()];
  if (handle == nullptr) {
    handle = &make(tool_duration_, {{"backend", series.name},
                                    {"tool", of_tool.name},
                                    {"outcome", std::string(outcome.name())}});
  }
  return *handle;
}

void PrometheusObserver::on_call_started(BackendId backend) {
  backends_[backend].in_flight->Increment();
}

void PrometheusObserver::on_call_finished(const CallRecord& call) {
  BackendSeries& series = backends_[call.backend];
  MethodSeries& method = series_in(series.methods, call.method);
  series.in_flight->Decrement();
  request_series(series, method, call.transport, call.outcome).Observe(to_seconds(call.total));
  if (call.tool) tool_series(series, *call.tool, call.outcome).Observe(to_seconds(call.total));
  // A call that was refused at once never stood in a queue.
  if (call.reached_child || call.queued > Duration::zero()) {
    series.queue->Observe(to_seconds(call.queued));
  }
  if (!call.reached_child) return;
  if (method.child == nullptr) {
    method.child = &make(child_duration_, {{"backend", series.name}, {"method", method.name}});
  }
  method.child->Observe(to_seconds(call.child));
}

void PrometheusObserver::on_notification(BackendId backend, MethodId method, Direction direction) {
  BackendSeries& series = backends_[backend];
  MethodSeries& of_method = series_in(series.methods, method);
  Counter*& handle = of_method.notifications[index_of(direction)];
  if (handle == nullptr) {
    handle = &notifications_.Add({{"backend", series.name},
                                  {"method", of_method.name},
                                  {"direction", std::string(direction_name(direction))}});
  }
  handle->Increment();
}

void PrometheusObserver::on_dropped(BackendId backend, DropReason reason) {
  backends_[backend].dropped[index_of(reason)]->Increment();
}

void PrometheusObserver::on_child_state(BackendId backend, ChildState from, ChildState to) {
  auto& children = backends_[backend].children;
  if (from != ChildState::dead) children[index_of(from)]->Decrement();
  if (to != ChildState::dead) children[index_of(to)]->Increment();
}

void PrometheusObserver::on_child_started(BackendId backend, StartReason reason) {
  backends_[backend].starts[index_of(reason)]->Increment();
}

void PrometheusObserver::on_child_ready(BackendId backend, Duration since_start) {
  backends_[backend].child_start->Observe(to_seconds(since_start));
}

void PrometheusObserver::on_child_exited(BackendId backend, ExitReason reason) {
  backends_[backend].exits[index_of(reason)]->Increment();
}

void PrometheusObserver::on_session_opened(BackendId backend) {
  backends_[backend].sessions->Increment();
}

void PrometheusObserver::on_session_closed(BackendId backend) {
  backends_[backend].sessions->Decrement();
}

void PrometheusObserver::on_connection_opened(Transport transport) {
  transports_[index_of(transport)].connections->Increment();
}

void PrometheusObserver::on_connection_closed(Transport transport) {
  transports_[index_of(transport)].connections->Decrement();
}

void PrometheusObserver::on_bytes(Transport transport, Flow flow, size_t count) {
  transports_[index_of(transport)].bytes[index_of(flow)]->Increment(static_cast<double>(count));
}

}  // namespace stdgate
