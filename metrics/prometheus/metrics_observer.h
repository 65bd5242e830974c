// MetricsObserver: counts what happened into a MetricsStore.
//
// Owner: the worker; exposition.h turns what is counted here into text.
// A call costs a few array accesses and additions: no lookup by name, no lock, and no allocation
// once its series exist.
#pragma once

#include <string_view>

#include "gateway/config/config.h"
#include "gateway/observer.h"
#include "metrics/prometheus/metrics_store.h"

namespace stdgate::metrics {

class MetricsObserver final : public Observer {
 public:
  explicit MetricsObserver(const config::MetricsConfig& config) : store_(config.buckets) {}

  [[nodiscard]] const MetricsStore& store() const { return store_; }

  void on_backend(BackendId backend, std::string_view name) override;
  void on_method(BackendId backend, MethodId method, std::string_view name) override;
  void on_tool(BackendId backend, ToolId tool, std::string_view name) override;
  void on_call_started(BackendId backend) override;
  void on_call_finished(const CallRecord& call) override;
  void on_notification(BackendId backend, MethodId method, Direction direction) override;
  void on_dropped(BackendId backend, DropReason reason) override;
  void on_rejected(BackendId backend, Rejection reason) override;
  void on_child_state(BackendId backend, ChildState from, ChildState to) override;
  void on_child_started(BackendId backend, StartReason reason) override;
  void on_child_ready(BackendId backend, Duration since_start) override;
  void on_child_exited(BackendId backend, ExitReason reason) override;
  void on_child_replaced(BackendId backend, ReplaceReason reason) override;
  void on_replacement_waits(BackendId backend, ReplaceReason reason) override;
  void on_breaker(BackendId backend, bool open) override;
  void on_session_places(BackendId backend, uint32_t places) override;
  void on_session_opened(BackendId backend) override;
  void on_session_state(BackendId backend, SessionState from, SessionState to) override;
  void on_session_parked(BackendId backend, ParkReason reason) override;
  void on_question_asked(BackendId backend) override;
  void on_question_ended(BackendId backend, MethodId method, QuestionEnd end,
                         Duration since_asked) override;
  void on_call_parked(BackendId backend) override;
  void on_parked_call_ended(BackendId backend, ParkedEnd end) override;
  void on_return(BackendId backend, ReturnEnd end) override;
  void on_cache_hit(BackendId backend) override;
  void on_remembered(BackendId backend) override;
  void on_check_failed(BackendId backend, CheckFailure failure) override;
  void on_pins(BackendId backend, PinState state, int64_t change) override;
  void on_session_revived(BackendId backend, RevivalOutcome outcome,
                          Duration since_request) override;
  void on_session_closed(BackendId backend, SessionState state) override;
  void on_connection_opened(ConnectionKind kind) override;
  void on_connection_closed(ConnectionKind kind) override;
  void on_bytes(ConnectionKind kind, Flow flow, size_t count) override;
  void on_refused(Refusal refusal) override;
  void on_handshake_failed(HandshakeFailure failure) override;
  void on_keys_fetched(FetchOutcome outcome) override;

 private:
  MetricsStore store_;
};

}  // namespace stdgate::metrics
