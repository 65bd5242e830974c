#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>

#include "metrics/prometheus/exposition.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// An observer, and its metrics as a map from "name{labels}" to the value.
class Metrics {
 public:
  Metrics() { observer_.on_backend(0, "calc"); }

  metrics::MetricsObserver& observer() { return observer_; }
  metrics::ScrapeReadings& readings() { return readings_; }
  std::string text() {
    return metrics::metrics_text(exposition_.take(), metrics::MetricsFormat::prometheus);
  }

  std::map<std::string, double> series() {
    std::map<std::string, double> found;
    std::istringstream lines(text());
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      const size_t space = line.rfind(' ');
      EXPECT_TRUE(found.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
          << line;
    }
    return found;
  }
  // NaN if the series does not exist. NaN equals no value.
  double value(const std::string& name) {
    const auto all = series();
    const auto found = all.find(name);
    return found == all.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }
  bool has(const std::string& name) { return series().contains(name); }
  size_t count_of(const std::string& prefix) {
    size_t count = 0;
    for (const auto& [name, value] : series()) count += name.starts_with(prefix) ? 1 : 0;
    return count;
  }

  void finish(CallRecord call) {
    observer_.on_call_started(call.backend);
    observer_.on_call_finished(call);
  }

 private:
  static config::MetricsConfig config() {
    config::MetricsConfig config;
    config.buckets = {0.00005, 0.001, 0.1, 60};
    return config;
  }

  metrics::ScrapeReadings readings_;
  metrics::MetricsObserver observer_{config()};
  metrics::MetricsExposition exposition_{
      {&observer_.store()}, "1.2.3", [this] { return readings_; }};
};

CallRecord call(MethodId method, Duration total, Outcome outcome = Outcome::ok()) {
  CallRecord record;
  record.method = method;
  record.total = total;
  record.outcome = outcome;
  return record;
}

TEST(MetricsObserver, CountsCallsByMethodAndOutcome) {
  Metrics metrics;
  metrics.observer().on_method(0, 1, "math/add");
  metrics.observer().on_method(0, 2, "echo");
  for (int i = 0; i < 3; ++i) metrics.finish(call(1, milliseconds(1)));
  metrics.finish(call(1, milliseconds(1), Outcome::error()));
  metrics.finish(call(2, milliseconds(1), Outcome::of(rpc::Fault::timeout)));
  const auto count = [&](const std::string& method, const std::string& outcome) {
    return metrics.value("stdgate_request_duration_seconds_count{backend=\"calc\",method=\"" +
                         method + "\",outcome=\"" + outcome + "\",transport=\"rpc\"}");
  };
  EXPECT_EQ(count("math/add", "ok"), 3);
  EXPECT_EQ(count("math/add", "error"), 1);
  EXPECT_EQ(count("echo", "timeout"), 1);
  EXPECT_EQ(metrics.count_of("stdgate_request_duration_seconds_count"), 3U);
}

TEST(MetricsObserver, PutsABoundaryIntoItsBucket) {
  Metrics metrics;
  const auto bucket = [&](const std::string& bound) {
    return metrics.value(
        "stdgate_request_duration_seconds_bucket{backend=\"calc\",method=\"_other\","
        "outcome=\"ok\",transport=\"rpc\",le=\"" +
        bound + "\"}");
  };
  metrics.finish(call(kOtherMethod, microseconds(50)));
  metrics.finish(call(kOtherMethod, microseconds(51)));
  metrics.finish(call(kOtherMethod, milliseconds(1)));
  metrics.finish(call(kOtherMethod, std::chrono::seconds(60)));
  metrics.finish(call(kOtherMethod, std::chrono::seconds(61)));
  EXPECT_EQ(bucket("5e-05"), 1);
  EXPECT_EQ(bucket("0.001"), 3);
  EXPECT_EQ(bucket("0.1"), 3);
  EXPECT_EQ(bucket("60"), 4);
  EXPECT_EQ(bucket("+Inf"), 5);
  EXPECT_NEAR(metrics.value("stdgate_request_duration_seconds_sum{backend=\"calc\","
                            "method=\"_other\",outcome=\"ok\",transport=\"rpc\"}"),
              121.001101, 1e-9);
}

TEST(MetricsObserver, SplitsAPathIntoQueueAndChild) {
  Metrics metrics;
  CallRecord served = call(kOtherMethod, milliseconds(7));
  served.reached_child = true;
  served.child = milliseconds(5);
  metrics.finish(served);
  CallRecord timed_out = call(kOtherMethod, milliseconds(9), Outcome::of(rpc::Fault::timeout));
  timed_out.queued = milliseconds(9);
  metrics.finish(timed_out);
  metrics.finish(call(kOtherMethod, milliseconds(0), Outcome::of(rpc::Fault::parse_error)));
  EXPECT_EQ(metrics.value("stdgate_queue_duration_seconds_count{backend=\"calc\"}"), 2);
  EXPECT_EQ(metrics.value("stdgate_queue_duration_seconds_sum{backend=\"calc\"}"), 0.009);
  EXPECT_EQ(
      metrics.value("stdgate_child_duration_seconds_count{backend=\"calc\",method=\"_other\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_child_duration_seconds_sum{backend=\"calc\",method=\"_other\"}"),
            0.005);
}

TEST(MetricsObserver, CountsRequestsInFlight) {
  Metrics metrics;
  const std::string name = "stdgate_requests_in_flight{backend=\"calc\"}";
  EXPECT_EQ(metrics.value(name), 0);
  metrics.observer().on_call_started(0);
  metrics.observer().on_call_started(0);
  EXPECT_EQ(metrics.value(name), 2);
  metrics.observer().on_call_finished(call(kOtherMethod, milliseconds(1)));
  EXPECT_EQ(metrics.value(name), 1);
}

TEST(MetricsObserver, GrowsByKnownMethodsOnly) {
  Metrics metrics;
  metrics.observer().on_method(0, 1, "echo");
  const size_t before = metrics.series().size();
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "invented" + std::to_string(i);
    CallRecord record = call(kOtherMethod, milliseconds(1));
    record.method_name = name;
    record.reached_child = true;
    metrics.finish(record);
  }
  // One series of each of two histograms: its buckets, +Inf, sum and count.
  EXPECT_EQ(metrics.series().size(), before + 2 * 7);
  EXPECT_EQ(metrics.value("stdgate_request_duration_seconds_count{backend=\"calc\","
                          "method=\"_other\",outcome=\"ok\",transport=\"rpc\"}"),
            10'000);
  EXPECT_THAT(metrics.text(), Not(testing::HasSubstr("invented")));
}

TEST(MetricsObserver, TakesAnUnannouncedMethodAsOther) {
  Metrics metrics;
  metrics.finish(call(499, milliseconds(1)));
  metrics.observer().on_notification(0, 499, Direction::to_child);
  EXPECT_EQ(metrics.value("stdgate_notifications_total{backend=\"calc\",direction=\"to_child\","
                          "method=\"_other\"}"),
            1);
}

TEST(MetricsObserver, CountsCallsByTool) {
  Metrics metrics;
  metrics.observer().on_tool(0, 1, "add");
  const auto called = [&](ToolId tool, Outcome outcome) {
    CallRecord record = call(1, milliseconds(2), outcome);
    record.tool = tool;
    record.tool_name = "invented";
    metrics.finish(record);
  };
  metrics.finish(call(1, milliseconds(1)));
  EXPECT_EQ(metrics.count_of("stdgate_tool_duration_seconds"), 0U) << "no tool, no series";
  called(1, Outcome::ok());
  called(1, Outcome::ok());
  called(1, Outcome::tool_error());
  called(kOtherTool, Outcome::error());
  called(499, Outcome::error());
  const auto value = [&](const std::string& of, const std::string& tool,
                         const std::string& outcome) {
    return metrics.value("stdgate_tool_duration_seconds_" + of + "{backend=\"calc\",outcome=\"" +
                         outcome + "\",tool=\"" + tool + "\"}");
  };
  EXPECT_EQ(value("count", "add", "ok"), 2);
  EXPECT_EQ(value("sum", "add", "ok"), 0.004);
  EXPECT_EQ(value("count", "add", "tool_error"), 1);
  EXPECT_EQ(value("count", "_other", "error"), 2);
  EXPECT_EQ(metrics.count_of("stdgate_tool_duration_seconds_count"), 3U);
  EXPECT_THAT(metrics.text(), Not(testing::HasSubstr("invented")));
}

TEST(MetricsObserver, CountsNotificationsByDirection) {
  Metrics metrics;
  metrics.observer().on_method(0, 1, "progress");
  metrics.observer().on_notification(0, 1, Direction::to_client);
  metrics.observer().on_notification(0, 1, Direction::to_client);
  metrics.observer().on_notification(0, 1, Direction::to_child);
  const std::string start = "stdgate_notifications_total{backend=\"calc\",direction=\"";
  EXPECT_EQ(metrics.value(start + "to_client\",method=\"progress\"}"), 2);
  EXPECT_EQ(metrics.value(start + "to_child\",method=\"progress\"}"), 1);
}

TEST(MetricsObserver, FollowsChildren) {
  Metrics metrics;
  metrics::MetricsObserver& observer = metrics.observer();
  observer.on_child_started(0, StartReason::demand);
  observer.on_child_state(0, ChildState::dead, ChildState::starting);
  observer.on_child_state(0, ChildState::starting, ChildState::ready);
  observer.on_child_ready(0, milliseconds(40));
  observer.on_child_state(0, ChildState::dead, ChildState::starting);
  const auto children = [&](const std::string& state) {
    return metrics.value("stdgate_children{backend=\"calc\",state=\"" + state + "\"}");
  };
  EXPECT_EQ(children("starting"), 1);
  EXPECT_EQ(children("ready"), 1);
  EXPECT_EQ(children("busy"), 0);
  EXPECT_EQ(children("draining"), 0);
  EXPECT_FALSE(metrics.has("stdgate_children{backend=\"calc\",state=\"dead\"}"));
  observer.on_child_state(0, ChildState::ready, ChildState::dead);
  observer.on_child_exited(0, ExitReason::signal);
  EXPECT_EQ(children("ready"), 0);
  EXPECT_EQ(metrics.value("stdgate_child_starts_total{backend=\"calc\",reason=\"demand\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_child_exits_total{backend=\"calc\",reason=\"signal\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_child_exits_total{backend=\"calc\",reason=\"asked\"}"), 0);
  EXPECT_EQ(metrics.value("stdgate_child_start_duration_seconds_sum{backend=\"calc\"}"), 0.04);
}

TEST(MetricsObserver, CountsDropsConnectionsAndBytes) {
  Metrics metrics;
  metrics::MetricsObserver& observer = metrics.observer();
  observer.on_dropped(0, DropReason::not_json);
  observer.on_rejected(0, Rejection::rate);
  observer.on_rejected(0, Rejection::rate);
  observer.on_dropped(0, DropReason::stray_response);
  observer.on_dropped(0, DropReason::stray_response);
  observer.on_connection_opened(ConnectionKind::http);
  observer.on_connection_opened(ConnectionKind::http);
  observer.on_connection_closed(ConnectionKind::http);
  observer.on_bytes(ConnectionKind::http, Flow::in, 100);
  observer.on_bytes(ConnectionKind::http, Flow::in, 20);
  observer.on_bytes(ConnectionKind::http, Flow::out, 3'000'000'000);
  const std::string dropped = "stdgate_messages_dropped_total{backend=\"calc\",reason=\"";
  EXPECT_EQ(metrics.value(dropped + "not_json\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_rejected_total{backend=\"calc\",reason=\"rate\"}"), 2);
  EXPECT_EQ(metrics.value(dropped + "stray_response\"}"), 2);
  EXPECT_EQ(metrics.value(dropped + "unknown_id\"}"), 0);
  EXPECT_EQ(metrics.value("stdgate_connections{transport=\"http\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_bytes_total{direction=\"in\",transport=\"http\"}"), 120);
  EXPECT_EQ(metrics.value("stdgate_bytes_total{direction=\"out\",transport=\"http\"}"), 3e9);
}

TEST(MetricsObserver, CountsRefusalsByReason) {
  Metrics metrics;
  metrics.observer().on_refused(Refusal::bad_origin);
  metrics.observer().on_refused(Refusal::bad_origin);
  metrics.observer().on_refused(Refusal::other);
  metrics.observer().on_handshake_failed(HandshakeFailure::timeout);
  EXPECT_EQ(metrics.value("stdgate_tls_handshake_failures_total{reason=\"timeout\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_tls_handshake_failures_total{reason=\"version\"}"), 0);
  metrics.observer().on_keys_fetched(FetchOutcome::redirected);
  EXPECT_EQ(metrics.value("stdgate_key_fetches_total{outcome=\"redirected\"}"), 1);
  EXPECT_EQ(metrics.value("stdgate_key_fetches_total{outcome=\"ok\"}"), 0);
  const std::string refusals = "stdgate_http_refusals_total{reason=\"";
  EXPECT_EQ(metrics.value(refusals + "bad_origin\"}"), 2);
  EXPECT_EQ(metrics.value(refusals + "other\"}"), 1);
  EXPECT_EQ(metrics.value(refusals + "tls_on_plain_port\"}"), 0);
}

TEST(MetricsObserver, KeepsBackendsApart) {
  Metrics metrics;
  metrics.observer().on_backend(1, "files");
  metrics.observer().on_method(1, 1, "read");
  CallRecord record = call(1, milliseconds(1));
  record.backend = 1;
  metrics.finish(record);
  EXPECT_EQ(metrics.value("stdgate_request_duration_seconds_count{backend=\"files\","
                          "method=\"read\",outcome=\"ok\",transport=\"rpc\"}"),
            1);
  EXPECT_EQ(metrics.count_of("stdgate_request_duration_seconds_count"), 1U);
}

TEST(MetricsObserver, EscapesMethodNames) {
  Metrics metrics;
  metrics.observer().on_method(0, 1, "a\"b\\c\nd");
  metrics.finish(call(1, milliseconds(1)));
  EXPECT_THAT(metrics.text(), testing::HasSubstr(R"(method="a\"b\\c\nd")"));
}

TEST(MetricsExposition, ShowsWhatIsReadAtTheScrape) {
  Metrics metrics;
  EXPECT_FALSE(metrics.has("stdgate_child_cpu_seconds_total{backend=\"calc\"}"));
  metrics.readings().children = {{"calc", 1.5, 4096}};
  metrics.readings().loop_lag = microseconds(250);
  EXPECT_EQ(metrics.value("stdgate_child_cpu_seconds_total{backend=\"calc\"}"), 1.5);
  EXPECT_EQ(metrics.value("stdgate_child_resident_memory_bytes{backend=\"calc\"}"), 4096);
  EXPECT_EQ(metrics.value("stdgate_loop_lag_seconds"), 0.00025);
  EXPECT_EQ(metrics.value("stdgate_build_info{version=\"1.2.3\"}"), 1);
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                           "process_virtual_memory_bytes", "process_open_fds", "process_max_fds",
                           "process_start_time_seconds"}) {
    EXPECT_TRUE(metrics.has(name)) << name;
  }
}

TEST(MetricsExposition, SaysTypeAndHelpOfEverySeries) {
  Metrics metrics;
  metrics.readings().children = {{"calc", 1.5, 4096}};
  std::istringstream lines(metrics.text());
  std::string previous;
  std::map<std::string, std::string> types;
  for (std::string line; std::getline(lines, line); previous = line) {
    if (!line.starts_with("# TYPE ")) continue;
    const std::string rest = line.substr(7);
    const std::string name = rest.substr(0, rest.find(' '));
    types[name] = rest.substr(rest.find(' ') + 1);
    EXPECT_THAT(previous, testing::StartsWith("# HELP " + name + " "));
  }
  EXPECT_EQ(types["stdgate_queue_duration_seconds"], "histogram");
  EXPECT_EQ(types["stdgate_requests_in_flight"], "gauge");
  EXPECT_EQ(types["stdgate_child_cpu_seconds_total"], "counter");
  EXPECT_EQ(types["stdgate_bytes_total"], "counter");
}

TEST(ProcessStats, DescribeThisProcess) {
  const auto before = metrics::read_process_stats();
  ASSERT_TRUE(before.has_value());
  const int fd = dup(STDERR_FILENO);
  const auto after = metrics::read_process_stats();
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->open_fds, before->open_fds + 1);
  close(fd);
  EXPECT_EQ(metrics::read_process_stats()->open_fds, before->open_fds);
  EXPECT_GE(before->max_fds, before->open_fds);
  EXPECT_GT(before->resident_bytes, 100'000U);
  EXPECT_GE(before->virtual_bytes, before->resident_bytes);
  const auto now = static_cast<double>(time(nullptr));
  EXPECT_LE(before->start_time_seconds, now + 2);
  EXPECT_GT(before->start_time_seconds, now - 3600);
  EXPECT_GE(after->cpu_seconds, before->cpu_seconds);
  EXPECT_LT(after->cpu_seconds, 3600);
}

}  // namespace
}  // namespace stdgate
