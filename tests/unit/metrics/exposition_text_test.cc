// The text of the metrics after a fixed history, and the page that describes it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "metrics/prometheus/exposition.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Some lines of each family. Dashboards and alerts depend on names, helps and labels.
constexpr std::string_view kLines[] = {
    R"(# HELP stdgate_notifications_total Notifications passed on)",
    R"(# TYPE stdgate_notifications_total counter)",
    R"(stdgate_notifications_total{backend="calc",direction="to_child",method="_other"} 1)",
    R"(stdgate_notifications_total{backend="calc",direction="to_client",method="a\"b\\c\nd"} 1)",
    R"(stdgate_mcp_cache_hits_total{backend="calc"} 0)",
    R"(stdgate_remembered_answers_total{backend="calc"} 0)",
    R"(stdgate_messages_dropped_total{backend="calc",reason="not_json"} 0)",
    R"(stdgate_messages_dropped_total{backend="calc",reason="outbox_full"} 1)",
    R"(stdgate_rejected_total{backend="calc",reason="denied"} 0)",
    R"(stdgate_child_starts_total{backend="calc",reason="minimum"} 0)",
    R"(stdgate_child_starts_total{backend="calc",reason="demand"} 1)",
    R"(stdgate_child_exits_total{backend="calc",reason="asked"} 0)",
    R"(stdgate_child_exits_total{backend="calc",reason="hung"} 1)",
    R"(stdgate_replacement_waits_total{backend="calc",reason="age"} 0)",
    R"(stdgate_replacement_waits_total{backend="calc",reason="memory"} 1)",
    R"(stdgate_bytes_total{direction="in",transport="http"} 123)",
    R"(stdgate_bytes_total{direction="out",transport="http"} 0)",
    R"(stdgate_bytes_total{direction="out",transport="websocket"} 3000000000)",
    R"(stdgate_http_refusals_total{reason="bad_head"} 0)",
    R"(stdgate_http_refusals_total{reason="not_found"} 1)",
    R"(stdgate_tls_handshake_failures_total{reason="plain_http"} 0)",
    R"(stdgate_tls_handshake_failures_total{reason="version"} 1)",
    R"(stdgate_key_fetches_total{outcome="ok"} 1)",
    R"(stdgate_key_fetches_total{outcome="unreachable"} 0)",
    R"(stdgate_breaker_open{backend="calc"} 0)",
    R"(stdgate_member_up{backend="calc",server="team"} 1)",
    R"(stdgate_member_calls_total{backend="calc",outcome="result",server="team"} 3)",
    R"(stdgate_member_calls_total{backend="calc",outcome="fault",server="team"} 1)",
    R"(# HELP stdgate_requests_in_flight Requests that have arrived and are not answered yet)",
    R"(# TYPE stdgate_requests_in_flight gauge)",
    R"(stdgate_requests_in_flight{backend="calc"} 1)",
    R"(stdgate_sessions{backend="calc",state="live"} 1)",
    R"(stdgate_sessions{backend="calc",state="parked"} 0)",
    R"(stdgate_session_places{backend="calc"} 0)",
    R"(stdgate_sessions_parked_total{backend="calc",reason="idle"} 0)",
    R"(stdgate_questions_open{backend="calc"} 1)",
    R"(stdgate_question_duration_seconds_count{backend="calc",end="answered",method="a\"b\\c\nd"} 1)",
    R"(stdgate_question_duration_seconds_sum{backend="calc",end="answered",method="a\"b\\c\nd"} 90)",
    R"(stdgate_parked_calls{backend="calc"} 0)",
    R"(stdgate_parked_calls_ended_total{backend="calc",end="resumed"} 0)",
    R"(stdgate_mcp_returns_total{backend="calc",end="returned"} 0)",
    R"(stdgate_sessions_revived_total{backend="calc",outcome="same"} 0)",
    R"(stdgate_session_revival_duration_seconds_count{backend="calc"} 0)",
    R"(stdgate_session_revival_duration_seconds_sum{backend="calc"} 0)",
    R"(stdgate_children{backend="calc",state="starting"} 0)",
    R"(stdgate_children{backend="calc",state="busy"} 1)",
    R"(stdgate_connections{transport="http"} 1)",
    R"(stdgate_connections{transport="websocket"} 0)",
    R"(# HELP stdgate_request_duration_seconds Time from a request's arrival to its answer)",
    R"(# TYPE stdgate_request_duration_seconds histogram)",
    R"(stdgate_request_duration_seconds_count{backend="calc",method="_other",outcome="parse_error",transport="rpc"} 1)",
    R"(stdgate_request_duration_seconds_sum{backend="calc",method="_other",outcome="parse_error",transport="rpc"} 0)",
    R"(stdgate_request_duration_seconds_count{backend="calc",method="_other",outcome="timeout",transport="rpc"} 2)",
    R"(stdgate_request_duration_seconds_sum{backend="calc",method="_other",outcome="timeout",transport="rpc"} 2.501)",
    R"(stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="0.001"} 1)",
    R"(stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="1"} 1)",
    R"(stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="+Inf"} 2)",
    R"(stdgate_request_duration_seconds_count{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc"} 2)",
    R"(stdgate_request_duration_seconds_sum{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc"} 0.002000001)",
    R"(stdgate_request_duration_seconds_count{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket"} 1)",
    R"(stdgate_request_duration_seconds_sum{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket"} 0.02)",
    R"(stdgate_tool_duration_seconds_count{backend="calc",outcome="tool_error",tool="grep"} 1)",
    R"(stdgate_tool_duration_seconds_sum{backend="calc",outcome="tool_error",tool="grep"} 0.02)",
    R"(stdgate_child_duration_seconds_count{backend="calc",method="a\"b\\c\nd"} 3)",
    R"(stdgate_child_duration_seconds_sum{backend="calc",method="a\"b\\c\nd"} 0.022)",
    R"(stdgate_queue_duration_seconds_count{backend="calc"} 5)",
    R"(stdgate_queue_duration_seconds_sum{backend="calc"} 2.501000001)",
    R"(stdgate_queue_duration_seconds_bucket{backend="calc",le="0.001"} 4)",
    R"(stdgate_queue_duration_seconds_bucket{backend="calc",le="1"} 4)",
    R"(stdgate_queue_duration_seconds_bucket{backend="calc",le="+Inf"} 5)",
    R"(stdgate_child_start_duration_seconds_count{backend="calc"} 1)",
    R"(stdgate_child_start_duration_seconds_sum{backend="calc"} 0.04)",
    R"(# HELP stdgate_child_cpu_seconds_total CPU time of child processes and what they started)",
    R"(# TYPE stdgate_child_cpu_seconds_total counter)",
    R"(stdgate_child_cpu_seconds_total{backend="calc"} 1.5)",
    R"(stdgate_child_resident_memory_bytes{backend="calc"} 4096)",
    R"(stdgate_child_incomplete_sandboxes_total{backend="calc"} 2)",
    R"(stdgate_tls_certificate_expiry_timestamp_seconds{certificate="a.crt",listener=":443"} 1800000000)",
    R"(stdgate_issuer_keys_age_seconds{issuer="https://id"} 2.5)",
    R"(stdgate_loop_lag_seconds 0.00025)",
    R"(stdgate_memory_pressure 0.5)",
    R"(stdgate_held_bytes{kind="receiving"} 7)",
    R"(stdgate_held_bytes{kind="unsent"} 0)",
    R"(stdgate_held_bytes{backend="calc",kind="receiving"} 1)",
    R"(stdgate_held_bytes{backend="calc",kind="unsent"} 2)",
    R"(stdgate_held_bytes{backend="calc",kind="calls"} 3)",
    R"(stdgate_held_bytes{backend="calc",kind="sessions"} 4)",
    R"(stdgate_held_bytes{backend="calc",kind="replay"} 5)",
    R"(stdgate_held_bytes{backend="calc",kind="caches"} 6)",
    R"(stdgate_held_limit_bytes 1000)",
    R"(stdgate_config_reloads_total{outcome="ok"} 4)",
    R"(stdgate_config_reloads_total{outcome="failed"} 1)",
    R"(stdgate_config_last_reload_successful 0)",
    R"(stdgate_audit_lines_total 9)",
    R"(stdgate_audit_failures_total 3)",
    R"(stdgate_audit_lost_lines_total 2)",
    R"(stdgate_audit_failing 1)",
    R"(stdgate_trace_spans_exported_total 30)",
    R"(stdgate_trace_spans_dropped_total{reason="queue_full"} 6)",
    R"(stdgate_trace_spans_dropped_total{reason="refused"} 0)",
    R"(stdgate_trace_spans_waiting 3)",
    R"(# HELP stdgate_build_info The version that runs; always 1)",
    R"(# TYPE stdgate_build_info gauge)",
    R"(stdgate_build_info{version="1.2.3"} 1)",
};

CallRecord call(MethodId method, Duration queued, Duration child, Outcome outcome) {
  CallRecord record;
  record.method = method;
  record.outcome = outcome;
  record.total = queued + child;
  record.queued = queued;
  record.child = child;
  record.reached_child = child > Duration::zero();
  return record;
}

void finish(Observer& observer, const CallRecord& call) {
  observer.on_call_started(call.backend);
  observer.on_call_finished(call);
}

// Records at least one event of each kind.
void record(Observer& observer) {
  observer.on_backend(0, "calc");
  observer.on_method(0, 1, "a\"b\\c\nd");
  observer.on_method(0, 2, "_other");
  observer.on_tool(0, 1, "grep");
  finish(observer, call(1, milliseconds(0), milliseconds(1), Outcome::ok()));
  finish(observer, call(1, nanoseconds(1), milliseconds(1), Outcome::ok()));
  finish(observer,
         call(kOtherMethod, milliseconds(2500), Duration(0), Outcome::of(rpc::Fault::timeout)));
  finish(observer, call(2, milliseconds(1), Duration(0), Outcome::of(rpc::Fault::timeout)));
  finish(observer, call(9, milliseconds(0), Duration(0), Outcome::of(rpc::Fault::parse_error)));
  CallRecord tool = call(1, milliseconds(0), milliseconds(20), Outcome::tool_error());
  tool.transport = Transport::websocket;
  tool.tool = 1;
  finish(observer, tool);
  observer.on_call_started(0);
  observer.on_notification(0, 1, Direction::to_client);
  observer.on_notification(0, 9, Direction::to_child);
  observer.on_dropped(0, DropReason::outbox_full);
  observer.on_child_started(0, StartReason::demand);
  observer.on_child_state(0, ChildState::dead, ChildState::starting);
  observer.on_child_state(0, ChildState::starting, ChildState::busy);
  observer.on_child_ready(0, milliseconds(40));
  observer.on_child_exited(0, ExitReason::hung);
  observer.on_replacement_waits(0, ReplaceReason::memory);
  observer.on_session_opened(0);
  observer.on_question_asked(0);
  observer.on_question_asked(0);
  observer.on_question_ended(0, 1, QuestionEnd::answered, std::chrono::seconds(90));
  observer.on_connection_opened(ConnectionKind::http);
  observer.on_refused(Refusal::not_found);
  observer.on_handshake_failed(HandshakeFailure::version);
  observer.on_keys_fetched(FetchOutcome::ok);
  observer.on_check_failed(0, CheckFailure::arguments);
  observer.on_pins(0, PinState::pinned, 3);
  observer.on_bytes(ConnectionKind::http, Flow::in, 123);
  observer.on_bytes(ConnectionKind::websocket, Flow::out, 3'000'000'000);
}

std::string text_of_everything() {
  config::MetricsConfig config;
  config.buckets = {0.001, 1};
  metrics::MetricsObserver observer(config);
  record(observer);
  const metrics::MetricsExposition exposition({&observer.store()}, "1.2.3", [] {
    metrics::ScrapeReadings readings;
    readings.children = {{"calc", 1.5, 4096, 2}};
    readings.certificates = {{":443", "a.crt", 1800000000}};
    readings.issuers = {{"https://id", 2.5}};
    readings.members = {{"team", "calc", true, {3, 2, 1}}};
    readings.loop_lag = std::chrono::microseconds(250);
    readings.memory_pressure = 0.5;
    readings.held = {{"", {{7}}}, {"calc", {{1, 2, 3, 4, 5, 6}}}};
    readings.held_limit = 1000;
    readings.reloads = {4, 1, false};
    readings.audit = {9, 3, 2, true};
    readings.spans = {30, 3, {{"queue_full", 6}, {"refused", 0}}};
    return readings;
  });
  return metrics::metrics_text(exposition.take(), metrics::MetricsFormat::prometheus);
}

// Counts the lines by their first words.
std::map<std::string, int> beginnings(const std::string& text, size_t words) {
  std::map<std::string, int> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t end = 0;
    for (size_t i = 0; i < words && end != std::string::npos; ++i) end = line.find(' ', end + 1);
    ++found[line.substr(0, end)];
  }
  return found;
}

TEST(MetricsExposition, HasTheseLines) {
  const std::string text = text_of_everything();
  const std::map<std::string, int> lines = beginnings(text, 1000);
  for (const std::string_view line : kLines) {
    EXPECT_TRUE(lines.contains(std::string(line))) << line;
  }
}

TEST(MetricsExposition, DescribesEachFamilyOnce) {
  const std::string text = text_of_everything();
  const std::map<std::string, int> described = beginnings(text, 3);
  std::istringstream rows(metrics::metrics_page());
  for (std::string row; std::getline(rows, row);) {
    const std::string name = row.substr(3, row.find('`', 3) - 3);
    // This history has no MCP requests, so the family has no series.
    if (name == "stdgate_mcp_requests_total") continue;
    for (const char* what : {"# HELP ", "# TYPE "}) {
      const auto line = described.find(what + name);
      EXPECT_TRUE(line != described.end() && line->second == 1) << what << name;
    }
  }
}

// A rate counts the first event of a kind only if its series existed before the event.
TEST(MetricsExposition, HasEachValueOfAFixedListFromTheStart) {
  const std::string text = text_of_everything();
  std::map<std::string, size_t> series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) ++series[line.substr(0, line.find('{'))];
  EXPECT_EQ(series["stdgate_http_refusals_total"], kRefusalCount);
  EXPECT_EQ(series["stdgate_tls_handshake_failures_total"], kHandshakeFailureCount);
  EXPECT_EQ(series["stdgate_key_fetches_total"], kFetchOutcomeCount);
  EXPECT_EQ(series["stdgate_messages_dropped_total"], kDropReasonCount);
  EXPECT_EQ(series["stdgate_rejected_total"], kRejectionCount);
  EXPECT_EQ(series["stdgate_child_exits_total"], kExitReasonCount);
  EXPECT_EQ(series["stdgate_children"], kChildStateCount - 1) << "no child is dead";
  EXPECT_EQ(series["stdgate_bytes_total"], kConnectionKindCount * kFlowCount);
}

// The page is generated from the rows. STDGATE_WRITE_PAGES=1 writes it again.
TEST(MetricsExposition, IsDescribedByItsPage) {
  const std::string path = STDGATE_SOURCE_DIR "/docs/metrics.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string text = page.str();
  const size_t begin = text.find("|---|---|---|---|\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string before = text.substr(0, begin + 18);
  const std::string wanted = before + metrics::metrics_page();
  if (std::getenv("STDGATE_WRITE_PAGES") != nullptr) std::ofstream(path) << wanted;
  EXPECT_EQ(text, wanted) << "run this test with STDGATE_WRITE_PAGES=1 in its environment";
}

// Clients choose the names of methods, and the metrics may be shown on a terminal.
TEST(MetricsExposition, LabelsHoldNothingThatATerminalObeys) {
  metrics::MetricsObserver observer({});
  observer.on_backend(0, "a");
  observer.on_method(0, 1, "m\x1b[2J\xc2\x9b\xe2\x80\xae");
  observer.on_notification(0, 1, Direction::to_client);
  const metrics::MetricsExposition exposition({&observer.store()}, "1",
                                              [] { return metrics::ScrapeReadings(); });
  const std::string text =
      metrics::metrics_text(exposition.take(), metrics::MetricsFormat::prometheus);
  EXPECT_NE(text.find(R"(method="m\\u001b[2J\\u009b\\u202e"})"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
}

}  // namespace
}  // namespace stdgate
