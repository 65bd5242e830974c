// The whole text that is served after a fixed history: names, helps, labels, values and their order
// are what dashboards and alerts rest upon.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "metrics/prometheus/exposition.h"
#include "metrics/prometheus/metrics_observer.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::string_view kText = R"text(# HELP stdgate_notifications_total Notifications passed on
# TYPE stdgate_notifications_total counter
stdgate_notifications_total{backend="calc",direction="to_child",method="_other"} 1
stdgate_notifications_total{backend="calc",direction="to_client",method="a\"b\\c\nd"} 1
# HELP stdgate_mcp_cache_hits_total Requests that were answered with what a child has answered before
# TYPE stdgate_mcp_cache_hits_total counter
stdgate_mcp_cache_hits_total{backend="calc"} 0
# HELP stdgate_messages_dropped_total Messages that were passed on to nobody
# TYPE stdgate_messages_dropped_total counter
stdgate_messages_dropped_total{backend="calc",reason="not_json"} 0
stdgate_messages_dropped_total{backend="calc",reason="not_rpc"} 0
stdgate_messages_dropped_total{backend="calc",reason="oversized"} 0
stdgate_messages_dropped_total{backend="calc",reason="unknown_id"} 0
stdgate_messages_dropped_total{backend="calc",reason="no_listener"} 0
stdgate_messages_dropped_total{backend="calc",reason="unknown_cancel"} 0
stdgate_messages_dropped_total{backend="calc",reason="caller_gone"} 0
stdgate_messages_dropped_total{backend="calc",reason="overloaded"} 0
stdgate_messages_dropped_total{backend="calc",reason="outbox_full"} 1
stdgate_messages_dropped_total{backend="calc",reason="stray_response"} 0
stdgate_messages_dropped_total{backend="calc",reason="denied"} 0
# HELP stdgate_rejected_total Messages and sessions refused by rules and by limits of one client
# TYPE stdgate_rejected_total counter
stdgate_rejected_total{backend="calc",reason="denied"} 0
stdgate_rejected_total{backend="calc",reason="insufficient_scope"} 0
stdgate_rejected_total{backend="calc",reason="rate"} 0
stdgate_rejected_total{backend="calc",reason="in_flight"} 0
stdgate_rejected_total{backend="calc",reason="sessions"} 0
stdgate_rejected_total{backend="calc",reason="clients"} 0
stdgate_rejected_total{backend="calc",reason="memory"} 0
# HELP stdgate_child_starts_total Child processes started
# TYPE stdgate_child_starts_total counter
stdgate_child_starts_total{backend="calc",reason="minimum"} 0
stdgate_child_starts_total{backend="calc",reason="demand"} 1
stdgate_child_starts_total{backend="calc",reason="restart"} 0
# HELP stdgate_child_exits_total Child processes ended; asked is no failure, nor is exit_zero when a session ended its own child
# TYPE stdgate_child_exits_total counter
stdgate_child_exits_total{backend="calc",reason="asked"} 0
stdgate_child_exits_total{backend="calc",reason="exit_zero"} 0
stdgate_child_exits_total{backend="calc",reason="exit_nonzero"} 0
stdgate_child_exits_total{backend="calc",reason="signal"} 0
stdgate_child_exits_total{backend="calc",reason="start_failed"} 0
stdgate_child_exits_total{backend="calc",reason="start_timeout"} 0
stdgate_child_exits_total{backend="calc",reason="hung"} 1
stdgate_child_exits_total{backend="calc",reason="broken_output"} 0
# HELP stdgate_bytes_total Bytes received from clients (in) and sent to them (out)
# TYPE stdgate_bytes_total counter
stdgate_bytes_total{direction="in",transport="http"} 123
stdgate_bytes_total{direction="out",transport="http"} 0
stdgate_bytes_total{direction="in",transport="websocket"} 0
stdgate_bytes_total{direction="out",transport="websocket"} 3000000000
# HELP stdgate_http_refusals_total HTTP requests answered by an error before they became calls
# TYPE stdgate_http_refusals_total counter
stdgate_http_refusals_total{reason="bad_head"} 0
stdgate_http_refusals_total{reason="tls_on_plain_port"} 0
stdgate_http_refusals_total{reason="bad_body"} 0
stdgate_http_refusals_total{reason="bad_request"} 0
stdgate_http_refusals_total{reason="unauthorized"} 0
stdgate_http_refusals_total{reason="bad_origin"} 0
stdgate_http_refusals_total{reason="bad_host"} 0
stdgate_http_refusals_total{reason="cross_site"} 0
stdgate_http_refusals_total{reason="forbidden"} 0
stdgate_http_refusals_total{reason="not_found"} 1
stdgate_http_refusals_total{reason="unknown_session"} 0
stdgate_http_refusals_total{reason="method_not_allowed"} 0
stdgate_http_refusals_total{reason="not_acceptable"} 0
stdgate_http_refusals_total{reason="timeout"} 0
stdgate_http_refusals_total{reason="gone"} 0
stdgate_http_refusals_total{reason="too_large"} 0
stdgate_http_refusals_total{reason="uri_too_long"} 0
stdgate_http_refusals_total{reason="headers_too_large"} 0
stdgate_http_refusals_total{reason="unsupported_media_type"} 0
stdgate_http_refusals_total{reason="expectation_failed"} 0
stdgate_http_refusals_total{reason="upgrade_required"} 0
stdgate_http_refusals_total{reason="rate_limited"} 0
stdgate_http_refusals_total{reason="not_implemented"} 0
stdgate_http_refusals_total{reason="version_not_supported"} 0
stdgate_http_refusals_total{reason="overloaded"} 0
stdgate_http_refusals_total{reason="other"} 0
# HELP stdgate_tls_handshake_failures_total TLS handshakes that failed
# TYPE stdgate_tls_handshake_failures_total counter
stdgate_tls_handshake_failures_total{reason="plain_http"} 0
stdgate_tls_handshake_failures_total{reason="malformed"} 0
stdgate_tls_handshake_failures_total{reason="version"} 1
stdgate_tls_handshake_failures_total{reason="no_shared_cipher"} 0
stdgate_tls_handshake_failures_total{reason="no_shared_protocol"} 0
stdgate_tls_handshake_failures_total{reason="no_client_certificate"} 0
stdgate_tls_handshake_failures_total{reason="bad_client_certificate"} 0
stdgate_tls_handshake_failures_total{reason="refused_by_client"} 0
stdgate_tls_handshake_failures_total{reason="left"} 0
stdgate_tls_handshake_failures_total{reason="timeout"} 0
stdgate_tls_handshake_failures_total{reason="other"} 0
# HELP stdgate_key_fetches_total How it went when keys of issuers of tokens were fetched
# TYPE stdgate_key_fetches_total counter
stdgate_key_fetches_total{outcome="ok"} 1
stdgate_key_fetches_total{outcome="unreachable"} 0
stdgate_key_fetches_total{outcome="untrusted"} 0
stdgate_key_fetches_total{outcome="timeout"} 0
stdgate_key_fetches_total{outcome="redirected"} 0
stdgate_key_fetches_total{outcome="bad_status"} 0
stdgate_key_fetches_total{outcome="too_large"} 0
stdgate_key_fetches_total{outcome="bad_content"} 0
stdgate_key_fetches_total{outcome="wrong_issuer"} 0
# HELP stdgate_breaker_open 1 while calls are refused, as the children of the backend keep failing
# TYPE stdgate_breaker_open gauge
stdgate_breaker_open{backend="calc"} 0
# HELP stdgate_requests_in_flight Requests that have arrived and are not answered yet
# TYPE stdgate_requests_in_flight gauge
stdgate_requests_in_flight{backend="calc"} 1
# HELP stdgate_sessions Open sessions by state
# TYPE stdgate_sessions gauge
stdgate_sessions{backend="calc",state="live"} 1
stdgate_sessions{backend="calc",state="parked"} 0
stdgate_sessions{backend="calc",state="reviving"} 0
# HELP stdgate_session_places Children that sessions may have at a time
# TYPE stdgate_session_places gauge
stdgate_session_places{backend="calc"} 0
# HELP stdgate_sessions_parked_total Sessions that have lost or given up their child
# TYPE stdgate_sessions_parked_total counter
stdgate_sessions_parked_total{backend="calc",reason="idle"} 0
stdgate_sessions_parked_total{backend="calc",reason="place_needed"} 0
stdgate_sessions_parked_total{backend="calc",reason="child_ended"} 0
stdgate_sessions_parked_total{backend="calc",reason="taken_over"} 0
# HELP stdgate_parked_calls Calls that wait for input of their clients
# TYPE stdgate_parked_calls gauge
stdgate_parked_calls{backend="calc"} 0
# HELP stdgate_parked_calls_ended_total Calls that have waited for input of their clients
# TYPE stdgate_parked_calls_ended_total counter
stdgate_parked_calls_ended_total{backend="calc",end="resumed"} 0
stdgate_parked_calls_ended_total{backend="calc",end="expired"} 0
stdgate_parked_calls_ended_total{backend="calc",end="stopped"} 0
stdgate_parked_calls_ended_total{backend="calc",end="given_up"} 0
stdgate_parked_calls_ended_total{backend="calc",end="failed"} 0
# HELP stdgate_mcp_returns_total Requests that bring back what a child has given out
# TYPE stdgate_mcp_returns_total counter
stdgate_mcp_returns_total{backend="calc",end="returned"} 0
stdgate_mcp_returns_total{backend="calc",end="unknown"} 0
stdgate_mcp_returns_total{backend="calc",end="expired"} 0
stdgate_mcp_returns_total{backend="calc",end="lost"} 0
# HELP stdgate_sessions_revived_total Parked sessions that were to get a child
# TYPE stdgate_sessions_revived_total counter
stdgate_sessions_revived_total{backend="calc",outcome="same"} 0
stdgate_sessions_revived_total{backend="calc",outcome="changed"} 0
stdgate_sessions_revived_total{backend="calc",outcome="failed"} 0
stdgate_sessions_revived_total{backend="calc",outcome="other_revision"} 0
# HELP stdgate_session_revival_duration_seconds Time from a parked session's request until its new child was ready for it
# TYPE stdgate_session_revival_duration_seconds histogram
stdgate_session_revival_duration_seconds_count{backend="calc"} 0
stdgate_session_revival_duration_seconds_sum{backend="calc"} 0
stdgate_session_revival_duration_seconds_bucket{backend="calc",le="0.001"} 0
stdgate_session_revival_duration_seconds_bucket{backend="calc",le="1"} 0
stdgate_session_revival_duration_seconds_bucket{backend="calc",le="+Inf"} 0
# HELP stdgate_children Child processes by state
# TYPE stdgate_children gauge
stdgate_children{backend="calc",state="starting"} 0
stdgate_children{backend="calc",state="ready"} 0
stdgate_children{backend="calc",state="busy"} 1
stdgate_children{backend="calc",state="draining"} 0
# HELP stdgate_connections Open client connections
# TYPE stdgate_connections gauge
stdgate_connections{transport="http"} 1
stdgate_connections{transport="websocket"} 0
# HELP stdgate_request_duration_seconds Time from a request's arrival to its answer
# TYPE stdgate_request_duration_seconds histogram
stdgate_request_duration_seconds_count{backend="calc",method="_other",outcome="parse_error",transport="rpc"} 1
stdgate_request_duration_seconds_sum{backend="calc",method="_other",outcome="parse_error",transport="rpc"} 0
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="parse_error",transport="rpc",le="0.001"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="parse_error",transport="rpc",le="1"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="parse_error",transport="rpc",le="+Inf"} 1
stdgate_request_duration_seconds_count{backend="calc",method="_other",outcome="timeout",transport="rpc"} 2
stdgate_request_duration_seconds_sum{backend="calc",method="_other",outcome="timeout",transport="rpc"} 2.501
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="0.001"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="1"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="_other",outcome="timeout",transport="rpc",le="+Inf"} 2
stdgate_request_duration_seconds_count{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc"} 2
stdgate_request_duration_seconds_sum{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc"} 0.002000001
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc",le="0.001"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc",le="1"} 2
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="ok",transport="rpc",le="+Inf"} 2
stdgate_request_duration_seconds_count{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket"} 1
stdgate_request_duration_seconds_sum{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket"} 0.02
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket",le="0.001"} 0
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket",le="1"} 1
stdgate_request_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",outcome="tool_error",transport="websocket",le="+Inf"} 1
# HELP stdgate_tool_duration_seconds Time from the arrival of a tool's call to its answer
# TYPE stdgate_tool_duration_seconds histogram
stdgate_tool_duration_seconds_count{backend="calc",outcome="tool_error",tool="grep"} 1
stdgate_tool_duration_seconds_sum{backend="calc",outcome="tool_error",tool="grep"} 0.02
stdgate_tool_duration_seconds_bucket{backend="calc",outcome="tool_error",tool="grep",le="0.001"} 0
stdgate_tool_duration_seconds_bucket{backend="calc",outcome="tool_error",tool="grep",le="1"} 1
stdgate_tool_duration_seconds_bucket{backend="calc",outcome="tool_error",tool="grep",le="+Inf"} 1
# HELP stdgate_child_duration_seconds Time from a request's writing to the child until it was answered
# TYPE stdgate_child_duration_seconds histogram
stdgate_child_duration_seconds_count{backend="calc",method="a\"b\\c\nd"} 3
stdgate_child_duration_seconds_sum{backend="calc",method="a\"b\\c\nd"} 0.022
stdgate_child_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",le="0.001"} 2
stdgate_child_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",le="1"} 3
stdgate_child_duration_seconds_bucket{backend="calc",method="a\"b\\c\nd",le="+Inf"} 3
# HELP stdgate_queue_duration_seconds Time that requests waited for a child
# TYPE stdgate_queue_duration_seconds histogram
stdgate_queue_duration_seconds_count{backend="calc"} 5
stdgate_queue_duration_seconds_sum{backend="calc"} 2.501000001
stdgate_queue_duration_seconds_bucket{backend="calc",le="0.001"} 4
stdgate_queue_duration_seconds_bucket{backend="calc",le="1"} 4
stdgate_queue_duration_seconds_bucket{backend="calc",le="+Inf"} 5
# HELP stdgate_child_start_duration_seconds Time from a child's start until it was ready
# TYPE stdgate_child_start_duration_seconds histogram
stdgate_child_start_duration_seconds_count{backend="calc"} 1
stdgate_child_start_duration_seconds_sum{backend="calc"} 0.04
stdgate_child_start_duration_seconds_bucket{backend="calc",le="0.001"} 0
stdgate_child_start_duration_seconds_bucket{backend="calc",le="1"} 1
stdgate_child_start_duration_seconds_bucket{backend="calc",le="+Inf"} 1
# HELP stdgate_child_cpu_seconds_total CPU time of child processes and what they started
# TYPE stdgate_child_cpu_seconds_total counter
stdgate_child_cpu_seconds_total{backend="calc"} 1.5
# HELP stdgate_child_resident_memory_bytes Resident memory of child processes
# TYPE stdgate_child_resident_memory_bytes gauge
stdgate_child_resident_memory_bytes{backend="calc"} 4096
# HELP stdgate_child_incomplete_sandboxes_total Child processes started without all of their sandbox
# TYPE stdgate_child_incomplete_sandboxes_total counter
stdgate_child_incomplete_sandboxes_total{backend="calc"} 2
# HELP stdgate_tls_certificate_expiry_timestamp_seconds When a listener's certificate expires, in seconds since the epoch
# TYPE stdgate_tls_certificate_expiry_timestamp_seconds gauge
stdgate_tls_certificate_expiry_timestamp_seconds{certificate="a.crt",listener=":443"} 1800000000
# HELP stdgate_issuer_keys_age_seconds Time since the keys of an issuer of tokens were fetched
# TYPE stdgate_issuer_keys_age_seconds gauge
stdgate_issuer_keys_age_seconds{issuer="https://id"} 2.5
# HELP stdgate_loop_lag_seconds How late the event loop came back from its last timer
# TYPE stdgate_loop_lag_seconds gauge
stdgate_loop_lag_seconds 0.00025
# HELP stdgate_memory_pressure Part of limits.memory that is used
# TYPE stdgate_memory_pressure gauge
stdgate_memory_pressure 0.5
# HELP stdgate_held_bytes Memory of what is kept for clients and backends
# TYPE stdgate_held_bytes gauge
stdgate_held_bytes{kind="receiving"} 7
stdgate_held_bytes{kind="unsent"} 0
stdgate_held_bytes{kind="calls"} 0
stdgate_held_bytes{kind="sessions"} 0
stdgate_held_bytes{kind="replay"} 0
stdgate_held_bytes{kind="caches"} 0
stdgate_held_bytes{backend="calc",kind="receiving"} 1
stdgate_held_bytes{backend="calc",kind="unsent"} 2
stdgate_held_bytes{backend="calc",kind="calls"} 3
stdgate_held_bytes{backend="calc",kind="sessions"} 4
stdgate_held_bytes{backend="calc",kind="replay"} 5
stdgate_held_bytes{backend="calc",kind="caches"} 6
# HELP stdgate_held_limit_bytes limits.buffered, or its default
# TYPE stdgate_held_limit_bytes gauge
stdgate_held_limit_bytes 1000
# HELP stdgate_config_reloads_total Times that the configuration was read again
# TYPE stdgate_config_reloads_total counter
stdgate_config_reloads_total{outcome="ok"} 4
stdgate_config_reloads_total{outcome="failed"} 1
# HELP stdgate_config_last_reload_successful 1 unless the configuration that was read last could not be used
# TYPE stdgate_config_last_reload_successful gauge
stdgate_config_last_reload_successful 0
# HELP stdgate_audit_lines_total Lines of the audit
# TYPE stdgate_audit_lines_total counter
stdgate_audit_lines_total 9
# HELP stdgate_audit_failures_total Attempts to write the audit, or to have it on the disk, that failed
# TYPE stdgate_audit_failures_total counter
stdgate_audit_failures_total 3
# HELP stdgate_audit_lost_lines_total Lines of the audit that were not written for lack of room
# TYPE stdgate_audit_lost_lines_total counter
stdgate_audit_lost_lines_total 2
# HELP stdgate_audit_failing 1 while the audit cannot be written, and calls are refused for it
# TYPE stdgate_audit_failing gauge
stdgate_audit_failing 1
# HELP stdgate_trace_spans_exported_total Spans that the collector of traces has taken
# TYPE stdgate_trace_spans_exported_total counter
stdgate_trace_spans_exported_total 30
# HELP stdgate_trace_spans_dropped_total Spans that no collector has taken
# TYPE stdgate_trace_spans_dropped_total counter
stdgate_trace_spans_dropped_total{reason="queue_full"} 6
stdgate_trace_spans_dropped_total{reason="refused"} 0
# HELP stdgate_trace_spans_waiting Spans that wait to be sent
# TYPE stdgate_trace_spans_waiting gauge
stdgate_trace_spans_waiting 3
# HELP stdgate_build_info The version that runs; always 1
# TYPE stdgate_build_info gauge
stdgate_build_info{version="1.2.3"} 1
)text";

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

// Something of everything.
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
  observer.on_session_opened(0);
  observer.on_connection_opened(ConnectionKind::http);
  observer.on_refused(Refusal::not_found);
  observer.on_handshake_failed(HandshakeFailure::version);
  observer.on_keys_fetched(FetchOutcome::ok);
  observer.on_bytes(ConnectionKind::http, Flow::in, 123);
  observer.on_bytes(ConnectionKind::websocket, Flow::out, 3'000'000'000);
}

// Without the lines about this process, which differ from run to run.
std::string fixed_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string fixed;
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.starts_with("# ") ? 7 : 0;
    if (!line.substr(name).starts_with("process_")) fixed += line + "\n";
  }
  return fixed;
}

TEST(MetricsExposition, IsThisText) {
  config::MetricsConfig config;
  config.buckets = {0.001, 1};
  metrics::MetricsObserver observer(config);
  record(observer);
  const metrics::MetricsExposition exposition({&observer.store()}, "1.2.3", [] {
    metrics::ScrapeReadings readings;
    readings.children = {{"calc", 1.5, 4096, 2}};
    readings.certificates = {{":443", "a.crt", 1800000000}};
    readings.issuers = {{"https://id", 2.5}};
    readings.loop_lag = std::chrono::microseconds(250);
    readings.memory_pressure = 0.5;
    readings.held = {{"", {{7}}}, {"calc", {{1, 2, 3, 4, 5, 6}}}};
    readings.held_limit = 1000;
    readings.reloads = {4, 1, false};
    readings.audit = {9, 3, 2, true};
    readings.spans = {30, 3, {{"queue_full", 6}, {"refused", 0}}};
    return readings;
  });
  EXPECT_EQ(
      fixed_lines(metrics::metrics_text(exposition.take(), metrics::MetricsFormat::prometheus)),
      kText);
}

// A method is named by a client; who looks at the text with curl has a terminal.
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
