// PrometheusObserver: counts what happened, in prometheus-cpp metrics.
//
// Owner: the composition root. exposition.h turns what is counted here into text.
// Handles are resolved once: a call costs array accesses and three observations, no lookup by name.
// A series of a method appears with its first use; what is labelled by backend and a fixed list
// (states, reasons) appears with the backend, at zero, so that a rate sees the first event.
// Limit: labels come from ids alone. Their number is bounded by whoever gives the ids: backends by
// the configuration, methods and tools by metrics.methods each, the rest being "_other".
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/observer.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <class T>
class Family;
}  // namespace prometheus

namespace stdgate {

class PrometheusObserver final : public Observer {
 public:
  explicit PrometheusObserver(const MetricsConfig& config);
  ~PrometheusObserver() override;
  PrometheusObserver(const PrometheusObserver&) = delete;
  PrometheusObserver& operator=(const PrometheusObserver&) = delete;

  [[nodiscard]] const prometheus::Registry& registry() const { return *registry_; }

  void on_backend(BackendId backend, std::string_view name) override;
  void on_method(BackendId backend, MethodId method, std::string_view name) override;
  void on_tool(BackendId backend, ToolId tool, std::string_view name) override;
  void on_call_started(BackendId backend) override;
  void on_call_finished(const CallRecord& call) override;
  void on_notification(BackendId backend, MethodId method, Direction direction) override;
  void on_dropped(BackendId backend, DropReason reason) override;
  void on_child_state(BackendId backend, ChildState from, ChildState to) override;
  void on_child_started(BackendId backend, StartReason reason) override;
  void on_child_ready(BackendId backend, Duration since_start) override;
  void on_child_exited(BackendId backend, ExitReason reason) override;
  void on_session_opened(BackendId backend) override;
  void on_session_closed(BackendId backend) override;
  void on_connection_opened(Transport transport) override;
  void on_connection_closed(Transport transport) override;
  void on_bytes(Transport transport, Flow flow, size_t count) override;

 private:
  using Labels = std::map<std::string, std::string>;

  // Null until first used. The registry owns what these point to.
  struct MethodSeries {
    std::string name;
    std::array<std::array<prometheus::Histogram*, Outcome::kCount>, kTransportCount> requests{};
    prometheus::Histogram* child = nullptr;
    std::array<prometheus::Counter*, kDirectionCount> notifications{};
  };
  struct ToolSeries {
    std::string name;
    std::array<prometheus::Histogram*, Outcome::kCount> calls{};
  };
  struct BackendSeries {
    std::string name;
    std::vector<MethodSeries> methods;  // by MethodId; the first is kOtherMethod
    std::vector<ToolSeries> tools;      // by ToolId; the first is kOtherTool
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Gauge* sessions = nullptr;
    prometheus::Histogram* queue = nullptr;
    prometheus::Histogram* child_start = nullptr;
    std::array<prometheus::Counter*, kDropReasonCount> dropped{};
    std::array<prometheus::Gauge*, kChildStateCount> children{};  // `dead` stays null
    std::array<prometheus::Counter*, kStartReasonCount> starts{};
    std::array<prometheus::Counter*, kExitReasonCount> exits{};
  };
  struct TransportSeries {
    prometheus::Gauge* connections = nullptr;
    std::array<prometheus::Counter*, kFlowCount> bytes{};
  };

  // Gives `id` its place in a list by ids, with its name.
  template <class Series>
  static void name_series(std::vector<Series>& all, NameId id, std::string_view name);
  // The first stands for those that have none.
  template <class Series>
  static Series& series_in(std::vector<Series>& all, NameId id);
  prometheus::Histogram& make(prometheus::Family<prometheus::Histogram>& family,
                              const Labels& labels);
  prometheus::Histogram& request_series(const BackendSeries& series, MethodSeries& method,
                                        Transport transport, Outcome outcome);
  prometheus::Histogram& tool_series(BackendSeries& series, ToolId tool, Outcome outcome);

  const std::vector<double> buckets_;
  const std::unique_ptr<prometheus::Registry> registry_;  // above what lives in it
  prometheus::Family<prometheus::Histogram>& request_duration_;
  prometheus::Family<prometheus::Histogram>& tool_duration_;
  prometheus::Family<prometheus::Histogram>& child_duration_;
  prometheus::Family<prometheus::Histogram>& queue_duration_;
  prometheus::Family<prometheus::Histogram>& child_start_duration_;
  prometheus::Family<prometheus::Gauge>& requests_in_flight_;
  prometheus::Family<prometheus::Gauge>& sessions_;
  prometheus::Family<prometheus::Gauge>& children_;
  prometheus::Family<prometheus::Counter>& notifications_;
  prometheus::Family<prometheus::Counter>& messages_dropped_;
  prometheus::Family<prometheus::Counter>& child_starts_;
  prometheus::Family<prometheus::Counter>& child_exits_;
  std::vector<BackendSeries> backends_;  // by BackendId
  std::array<TransportSeries, kTransportCount> transports_;
};

}  // namespace stdgate
