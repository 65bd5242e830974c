// RecordingObserver: an observer that keeps what it is told.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/observer.h"

namespace stdgate::test {

class RecordingObserver final : public Observer {
 public:
  struct Record {  // a CallRecord that owns its texts
    std::string method;
    MethodId method_id = kOtherMethod;
    std::string outcome;
    Duration total{0};
    Duration queued{0};
    Duration child{0};
    bool reached_child = false;
    std::string id;
    size_t bytes_in = 0;
    size_t bytes_out = 0;
    std::string detail;
    std::optional<ToolId> tool{};
    std::string tool_name{};
    TraceContext trace{};
    SpanId span = 0;
    std::string revision{};
    std::string session{};
    std::string client{};
    uint64_t child_number = 0;
  };
  void on_call_started(BackendId) override { ++started; }
  void on_call_finished(const CallRecord& record) override {
    records.push_back(
        {std::string(record.method_name), record.method, std::string(record.outcome.name()),
         record.total, record.queued, record.child, record.reached_child, std::string(record.id),
         record.bytes_in, record.bytes_out, std::string(record.detail), record.tool,
         std::string(record.tool_name), record.trace == nullptr ? TraceContext() : *record.trace,
         record.span, std::string(record.revision), std::string(record.session.view()),
         record.client.to_string(), record.child_number});
  }
  void on_notification(BackendId, MethodId, Direction direction) override {
    ++notifications[direction];
  }
  void on_dropped(BackendId, DropReason reason) override { ++dropped[reason]; }
  void on_rejected(BackendId, Rejection reason) override { ++rejected[reason]; }
  void on_child_state(BackendId, ChildState from, ChildState to) override {
    --states[from];
    ++states[to];
    ++state_changes;
  }
  void on_child_started(BackendId, StartReason reason) override { starts.push_back(reason); }
  void on_child_exited(BackendId, ExitReason reason) override { exits.push_back(reason); }
  void on_child_replaced(BackendId, ReplaceReason reason) override { replaced.push_back(reason); }
  void on_replacement_waits(BackendId, ReplaceReason reason) override { waits.push_back(reason); }
  void on_method(BackendId, MethodId, std::string_view name) override {
    methods.emplace_back(name);
  }
  void on_tool(BackendId, ToolId, std::string_view name) override { tools.emplace_back(name); }

  void on_session_opened(BackendId) override { ++sessions; }
  void on_session_closed(BackendId, SessionState) override { --sessions; }
  void on_breaker(BackendId, bool open) override { breaker_open = open; }
  void on_session_parked(BackendId, ParkReason reason) override { ++parked[reason]; }
  void on_question_asked(BackendId) override { ++questions; }
  void on_question_ended(BackendId, MethodId, QuestionEnd end, Duration since_asked) override {
    --questions;
    ++question_ends[end];
    longest_question = std::max(longest_question, since_asked);
  }
  void on_call_parked(BackendId) override { ++parked_calls; }
  void on_parked_call_ended(BackendId, ParkedEnd end) override { ++parked_ends[end]; }
  void on_return(BackendId, ReturnEnd end) override { ++returns[end]; }
  void on_cache_hit(BackendId) override { ++cache_hits; }
  void on_remembered(BackendId) override { ++remembered; }
  void on_session_revived(BackendId, RevivalOutcome outcome, Duration) override {
    ++revived[outcome];
  }

  int sessions = 0;
  bool breaker_open = false;
  std::map<ParkReason, int> parked;
  int questions = 0;  // open now
  std::map<QuestionEnd, int> question_ends;
  Duration longest_question{0};
  int parked_calls = 0;  // so far
  std::map<ParkedEnd, int> parked_ends;
  std::map<ReturnEnd, int> returns;
  int cache_hits = 0;
  int remembered = 0;
  std::map<RevivalOutcome, int> revived;
  uint64_t started = 0;
  std::vector<Record> records;
  std::map<Direction, int> notifications;
  std::map<DropReason, int> dropped;
  std::map<Rejection, int> rejected;
  std::map<ChildState, int> states;
  size_t state_changes = 0;
  std::vector<StartReason> starts;
  std::vector<ExitReason> exits;
  std::vector<ReplaceReason> replaced;
  std::vector<ReplaceReason> waits;  // children that stay until their work is done
  std::vector<std::string> methods;
  std::vector<std::string> tools;
};

}  // namespace stdgate::test
