#include "metrics/logs/access_log.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "metrics/observers.h"

namespace stdgate {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class RecordingLog final : public logs::LineSink {
 public:
  struct Line {
    LogLevel level;
    std::string event;
    std::string fields;
  };

  [[nodiscard]] bool enabled(LogLevel level) const override { return level >= least; }
  [[nodiscard]] config::LogFormat format() const override { return spelled; }
  void write_rendered(LogLevel level, std::string_view event, std::string_view fields) override {
    lines.push_back({level, std::string(event), std::string(fields)});
  }

  LogLevel least = LogLevel::debug;
  config::LogFormat spelled = config::LogFormat::text;
  std::vector<Line> lines;
};

CallRecord sample() {
  CallRecord call;
  call.method_name = "math/add";
  call.total = std::chrono::nanoseconds(1'234'567);
  call.queued = std::chrono::microseconds(4);
  call.child = std::chrono::milliseconds(1);
  call.id = R"("a")";
  call.connection = 7;
  call.bytes_in = 60;
  call.bytes_out = 36;
  return call;
}

TEST(AccessLog, WritesOneLinePerCall) {
  RecordingLog log;
  logs::AccessLog access(log);
  access.on_backend(0, "calc");
  access.on_call_started(0);
  access.on_call_finished(sample());
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].level, LogLevel::info);
  EXPECT_EQ(log.lines[0].event, "call");
  EXPECT_EQ(log.lines[0].fields,
            " backend=calc method=math/add outcome=ok transport=rpc duration_ms=1.235 "
            "queue_ms=0.004 child_ms=1 id=\"\\\"a\\\"\" connection=7 bytes_in=60 bytes_out=36");
}

TEST(AccessLog, WritesJson) {
  RecordingLog log;
  log.spelled = config::LogFormat::json;
  logs::AccessLog access(log);
  access.on_backend(0, "calc");
  CallRecord call = sample();
  call.tool_name = "two words";
  TraceContext trace;
  ASSERT_TRUE(trace.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  call.trace = &trace;
  call.detail = "a \"detail\"";
  access.on_call_finished(call);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].fields,
            R"(,"backend":"calc","method":"math/add","tool":"two words","outcome":"ok",)"
            R"("transport":"rpc","duration_ms":1.235,"queue_ms":0.004,"child_ms":1,)"
            R"("id":"\"a\"","connection":7,"bytes_in":60,"bytes_out":36,)"
            R"("trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",)"
            R"("detail":"a \"detail\"")");
}

// More than any reasonable text, and each byte of it an escape: room is made for all of it.
TEST(AccessLog, HasRoomForTheLongestTexts) {
  const std::string controls(100'000, '\x01');
  for (const config::LogFormat format : {config::LogFormat::text, config::LogFormat::json}) {
    RecordingLog log;
    log.spelled = format;
    logs::AccessLog access(log);
    CallRecord call = sample();
    call.id = call.method_name = call.tool_name = call.detail = controls;
    access.on_call_finished(call);
    ASSERT_EQ(log.lines.size(), 1U);
    const size_t cut = 2 * (size_t{64} << 10) + logs::AccessLog::kMaxId + logs::AccessLog::kMaxTool;
    EXPECT_GT(log.lines[0].fields.size(), 6 * cut);
    EXPECT_LT(log.lines[0].fields.size(), 6 * cut + 1000);
  }
}

TEST(AccessLog, WarnsOfFaultsWithTheirDetail) {
  RecordingLog log;
  logs::AccessLog access(log);
  access.on_backend(0, "calc");
  for (const Outcome outcome : {Outcome::ok(), Outcome::error(), Outcome::tool_error(),
                                Outcome::cancelled(), Outcome::of(rpc::Fault::parse_error)}) {
    CallRecord call = sample();
    call.outcome = outcome;
    access.on_call_finished(call);
  }
  CallRecord failed = sample();
  failed.outcome = Outcome::of(rpc::Fault::child_failed);
  failed.detail = "exit code 3";
  access.on_call_finished(failed);
  ASSERT_EQ(log.lines.size(), 6U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(log.lines[i].level, LogLevel::info) << i;
  EXPECT_EQ(log.lines[4].level, LogLevel::warn);
  EXPECT_EQ(log.lines[5].level, LogLevel::warn);
  EXPECT_THAT(log.lines[4].fields, Not(HasSubstr(" detail=")));
  EXPECT_THAT(log.lines[5].fields, EndsWith(" detail=\"exit code 3\""));
  EXPECT_THAT(log.lines[5].fields, HasSubstr(" outcome=child_failed "));
}

TEST(AccessLog, CutsIdsAndShowsAMissingOneAsNull) {
  RecordingLog log;
  logs::AccessLog access(log);
  const std::string at_limit(logs::AccessLog::kMaxId, '1');
  const std::string over_limit = at_limit + '2';
  for (const std::string_view id :
       {std::string_view(at_limit), std::string_view(over_limit), std::string_view()}) {
    CallRecord call = sample();
    call.id = id;
    access.on_call_finished(call);
  }
  EXPECT_THAT(log.lines.at(0).fields, HasSubstr(" id=" + at_limit + " "));
  EXPECT_THAT(log.lines.at(1).fields, HasSubstr(" id=" + at_limit + " "));
  EXPECT_THAT(log.lines.at(2).fields, HasSubstr(" id=null "));
}

TEST(AccessLog, NamesTheTool) {
  RecordingLog log;
  logs::AccessLog access(log);
  CallRecord call = sample();
  access.on_call_finished(call);
  call.tool = kOtherTool;
  call.tool_name = "echo";
  access.on_call_finished(call);
  const std::string long_name = std::string(logs::AccessLog::kMaxTool, 't') + 'u';
  call.tool_name = long_name;
  access.on_call_finished(call);
  EXPECT_THAT(log.lines.at(0).fields, Not(HasSubstr(" tool=")));
  EXPECT_THAT(log.lines.at(1).fields, HasSubstr(" tool=echo "));
  EXPECT_THAT(log.lines.at(2).fields,
              HasSubstr(" tool=" + std::string(logs::AccessLog::kMaxTool, 't') + " "));
}

TEST(AccessLog, LeavesQuietLevelsAlone) {
  RecordingLog log;
  log.least = LogLevel::warn;
  logs::AccessLog access(log);
  access.on_call_finished(sample());
  EXPECT_TRUE(log.lines.empty());
}

class StrictObserver : public Observer {
 public:
  MOCK_METHOD(void, on_backend, (BackendId, std::string_view), (override));
  MOCK_METHOD(void, on_method, (BackendId, MethodId, std::string_view), (override));
  MOCK_METHOD(void, on_tool, (BackendId, ToolId, std::string_view), (override));
  MOCK_METHOD(void, on_call_started, (BackendId), (override));
  MOCK_METHOD(void, on_call_finished, (const CallRecord&), (override));
  MOCK_METHOD(void, on_message, (BackendId, Direction, std::span<const std::string_view>),
              (override));
  MOCK_METHOD(void, on_notification, (BackendId, MethodId, Direction), (override));
  MOCK_METHOD(void, on_dropped, (BackendId, DropReason), (override));
  MOCK_METHOD(void, on_child_state, (BackendId, ChildState, ChildState), (override));
  MOCK_METHOD(void, on_child_started, (BackendId, StartReason), (override));
  MOCK_METHOD(void, on_child_ready, (BackendId, Duration), (override));
  MOCK_METHOD(void, on_child_exited, (BackendId, ExitReason), (override));
  MOCK_METHOD(void, on_session_opened, (BackendId), (override));
  MOCK_METHOD(void, on_breaker, (BackendId, bool), (override));
  MOCK_METHOD(void, on_session_places, (BackendId, uint32_t), (override));
  MOCK_METHOD(void, on_session_state, (BackendId, SessionState, SessionState), (override));
  MOCK_METHOD(void, on_session_parked, (BackendId, ParkReason), (override));
  MOCK_METHOD(void, on_session_revived, (BackendId, RevivalOutcome, Duration), (override));
  MOCK_METHOD(void, on_session_closed, (BackendId, SessionState), (override));
  MOCK_METHOD(void, on_connection_opened, (ConnectionKind), (override));
  MOCK_METHOD(void, on_connection_closed, (ConnectionKind), (override));
  MOCK_METHOD(void, on_bytes, (ConnectionKind, Flow, size_t), (override));
  MOCK_METHOD(void, on_refused, (Refusal), (override));
  MOCK_METHOD(void, on_handshake_failed, (HandshakeFailure), (override));
};

// Overrides, and so hears, one event or two.
class CallsOnly : public Observer {
 public:
  MOCK_METHOD(void, on_call_finished, (const CallRecord&), (override));
};
class MessagesOnly : public Observer {
 public:
  MOCK_METHOD(void, on_backend, (BackendId, std::string_view), (override));
  MOCK_METHOD(void, on_message, (BackendId, Direction, std::span<const std::string_view>),
              (override));
};
class DropsOnly : public Observer {
 public:
  void on_dropped(BackendId /*backend*/, DropReason /*reason*/) override { ++dropped; }
  int dropped = 0;
};
// What a base has overridden counts too.
class MoreThanDrops final : public DropsOnly {
 public:
  void on_refused(Refusal /*refusal*/) override { ++refused; }
  int refused = 0;
};

TEST(Observers, HearWhatTheyOverride) {
  testing::StrictMock<StrictObserver> first;
  testing::StrictMock<StrictObserver> second;
  testing::StrictMock<CallsOnly> of_calls;
  testing::StrictMock<MessagesOnly> of_messages;
  DropsOnly of_drops;
  MoreThanDrops of_more;
  Observers observers;
  observers.add(first);
  observers.add(of_calls);
  observers.add(of_messages);
  observers.add(of_drops);
  observers.add(of_more);
  observers.add(second);
  const CallRecord call = sample();
  EXPECT_CALL(of_calls, on_call_finished(testing::Ref(call)));
  EXPECT_CALL(of_messages, on_backend(1, std::string_view("calc")));
  EXPECT_CALL(of_messages, on_message(1, Direction::to_child, testing::SizeIs(1)));
  for (auto* observer : {&first, &second}) {
    EXPECT_CALL(*observer, on_backend(1, std::string_view("calc")));
    EXPECT_CALL(*observer, on_method(1, 2, std::string_view("echo")));
    EXPECT_CALL(*observer, on_tool(1, 3, std::string_view("add")));
    EXPECT_CALL(*observer, on_call_started(1));
    EXPECT_CALL(*observer, on_call_finished(testing::Ref(call)));
    EXPECT_CALL(*observer, on_message(1, Direction::to_child, testing::SizeIs(1)));
    EXPECT_CALL(*observer, on_notification(1, 2, Direction::to_client));
    EXPECT_CALL(*observer, on_dropped(1, DropReason::not_rpc));
    EXPECT_CALL(*observer, on_child_state(1, ChildState::ready, ChildState::busy));
    EXPECT_CALL(*observer, on_child_started(1, StartReason::demand));
    EXPECT_CALL(*observer, on_child_ready(1, Duration(3)));
    EXPECT_CALL(*observer, on_child_exited(1, ExitReason::hung));
    EXPECT_CALL(*observer, on_session_opened(1));
    EXPECT_CALL(*observer, on_breaker(1, true));
    EXPECT_CALL(*observer, on_session_places(1, 4));
    EXPECT_CALL(*observer, on_session_state(1, SessionState::live, SessionState::parked));
    EXPECT_CALL(*observer, on_session_parked(1, ParkReason::idle));
    EXPECT_CALL(*observer, on_session_revived(1, RevivalOutcome::failed, Duration{2}));
    EXPECT_CALL(*observer, on_session_closed(1, SessionState::parked));
    EXPECT_CALL(*observer, on_connection_opened(ConnectionKind::http));
    EXPECT_CALL(*observer, on_connection_closed(ConnectionKind::http));
    EXPECT_CALL(*observer, on_bytes(ConnectionKind::http, Flow::out, 5));
    EXPECT_CALL(*observer, on_refused(Refusal::gone));
    EXPECT_CALL(*observer, on_handshake_failed(HandshakeFailure::left));
  }
  observers.on_backend(1, "calc");
  observers.on_method(1, 2, "echo");
  observers.on_tool(1, 3, "add");
  observers.on_call_started(1);
  observers.on_call_finished(call);
  const std::string_view text = "{}";
  observers.on_message(1, Direction::to_child, {&text, 1});
  observers.on_notification(1, 2, Direction::to_client);
  observers.on_dropped(1, DropReason::not_rpc);
  observers.on_child_state(1, ChildState::ready, ChildState::busy);
  observers.on_child_started(1, StartReason::demand);
  observers.on_child_ready(1, Duration(3));
  observers.on_child_exited(1, ExitReason::hung);
  observers.on_session_opened(1);
  observers.on_breaker(1, true);
  observers.on_session_places(1, 4);
  observers.on_session_state(1, SessionState::live, SessionState::parked);
  observers.on_session_parked(1, ParkReason::idle);
  observers.on_session_revived(1, RevivalOutcome::failed, Duration{2});
  observers.on_session_closed(1, SessionState::parked);
  observers.on_connection_opened(ConnectionKind::http);
  observers.on_connection_closed(ConnectionKind::http);
  observers.on_bytes(ConnectionKind::http, Flow::out, 5);
  observers.on_refused(Refusal::gone);
  observers.on_handshake_failed(HandshakeFailure::left);
  EXPECT_EQ(of_drops.dropped, 1);
  EXPECT_EQ(of_more.dropped, 1);
  EXPECT_EQ(of_more.refused, 1);
}

}  // namespace
}  // namespace stdgate
