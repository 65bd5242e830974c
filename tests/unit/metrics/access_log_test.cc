#include "metrics/access_log.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "metrics/observers.h"

namespace stdgate {
namespace {

class RecordingLog final : public Log {
 public:
  struct Line {
    LogLevel level;
    std::string event;
    std::map<std::string, std::string> fields;
  };

  [[nodiscard]] bool enabled(LogLevel level) const override { return level >= least; }
  void write(LogLevel level, std::string_view event,
             std::initializer_list<LogField> fields) override {
    Line line = {level, std::string(event), {}};
    for (const LogField& field : fields) {
      if (std::holds_alternative<std::monostate>(field.value)) continue;
      line.fields[std::string(field.key)] = std::visit(
          [](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::string_view>) {
              return std::string(value);
            } else if constexpr (std::is_same_v<Value, std::monostate>) {
              return std::string();
            } else if constexpr (std::is_same_v<Value, Duration>) {
              return std::to_string(value.count()) + "ns";
            } else {
              return std::to_string(value);
            }
          },
          field.value);
    }
    lines.push_back(std::move(line));
  }

  LogLevel least = LogLevel::debug;
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
  AccessLog access(log);
  access.on_backend(0, "calc");
  access.on_call_started(0);
  access.on_call_finished(sample());
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].level, LogLevel::info);
  EXPECT_EQ(log.lines[0].event, "call");
  const std::map<std::string, std::string> expected = {
      {"backend", "calc"},          {"method", "math/add"}, {"outcome", "ok"},
      {"transport", "http"},        {"id", R"("a")"},       {"connection", "7"},
      {"duration_ms", "1234567ns"}, {"queue_ms", "4000ns"}, {"child_ms", "1000000ns"},
      {"bytes_in", "60"},           {"bytes_out", "36"}};
  EXPECT_EQ(log.lines[0].fields, expected);
}

TEST(AccessLog, WarnsOfFaultsWithTheirDetail) {
  RecordingLog log;
  AccessLog access(log);
  access.on_backend(0, "calc");
  for (const Outcome outcome : {Outcome::ok(), Outcome::error(), Outcome::tool_error(),
                                Outcome::cancelled(), Outcome::of(Fault::parse_error)}) {
    CallRecord call = sample();
    call.outcome = outcome;
    access.on_call_finished(call);
  }
  CallRecord failed = sample();
  failed.outcome = Outcome::of(Fault::child_failed);
  failed.detail = "exit code 3";
  access.on_call_finished(failed);
  ASSERT_EQ(log.lines.size(), 6U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(log.lines[i].level, LogLevel::info) << i;
  EXPECT_EQ(log.lines[4].level, LogLevel::warn);
  EXPECT_EQ(log.lines[5].level, LogLevel::warn);
  EXPECT_EQ(log.lines[4].fields.count("detail"), 0U);
  EXPECT_EQ(log.lines[5].fields["detail"], "exit code 3");
  EXPECT_EQ(log.lines[5].fields["outcome"], "child_failed");
}

TEST(AccessLog, CutsIdsAndShowsAMissingOneAsNull) {
  RecordingLog log;
  AccessLog access(log);
  const std::string at_limit(AccessLog::kIdLimit, '1');
  const std::string over_limit = at_limit + '2';
  for (const std::string_view id :
       {std::string_view(at_limit), std::string_view(over_limit), std::string_view()}) {
    CallRecord call = sample();
    call.id = id;
    access.on_call_finished(call);
  }
  EXPECT_EQ(log.lines.at(0).fields["id"], at_limit);
  EXPECT_EQ(log.lines.at(1).fields["id"], at_limit);
  EXPECT_EQ(log.lines.at(2).fields["id"], "null");
}

TEST(AccessLog, NamesTheTool) {
  RecordingLog log;
  AccessLog access(log);
  CallRecord call = sample();
  access.on_call_finished(call);
  call.tool = kOtherTool;
  call.tool_name = "echo";
  access.on_call_finished(call);
  const std::string long_name = std::string(AccessLog::kToolLimit, 't') + 'u';
  call.tool_name = long_name;
  access.on_call_finished(call);
  EXPECT_FALSE(log.lines.at(0).fields.contains("tool"));
  EXPECT_EQ(log.lines.at(1).fields["tool"], "echo");
  EXPECT_EQ(log.lines.at(2).fields["tool"], std::string(AccessLog::kToolLimit, 't'));
}

TEST(AccessLog, LeavesQuietLevelsAlone) {
  RecordingLog log;
  log.least = LogLevel::warn;
  AccessLog access(log);
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
  MOCK_METHOD(void, on_session_closed, (BackendId), (override));
  MOCK_METHOD(void, on_connection_opened, (Transport), (override));
  MOCK_METHOD(void, on_connection_closed, (Transport), (override));
  MOCK_METHOD(void, on_bytes, (Transport, Flow, size_t), (override));
};

TEST(Observers, PassOnWhatIsWanted) {
  testing::StrictMock<StrictObserver> first;
  testing::StrictMock<StrictObserver> second;
  testing::StrictMock<StrictObserver> of_calls;
  testing::StrictMock<StrictObserver> of_messages;
  Observers observers;
  observers.add(first);
  observers.add_for_calls(of_calls);
  observers.add_for_messages(of_messages);
  observers.add(second);
  const CallRecord call = sample();
  EXPECT_CALL(of_calls, on_backend(1, std::string_view("calc")));
  EXPECT_CALL(of_calls, on_call_finished(testing::Ref(call)));
  EXPECT_CALL(of_messages, on_backend(1, std::string_view("calc")));
  EXPECT_CALL(of_messages, on_message(1, Direction::to_child, testing::SizeIs(1)));
  for (auto* observer : {&first, &second}) {
    EXPECT_CALL(*observer, on_backend(1, std::string_view("calc")));
    EXPECT_CALL(*observer, on_method(1, 2, std::string_view("echo")));
    EXPECT_CALL(*observer, on_tool(1, 3, std::string_view("add")));
    EXPECT_CALL(*observer, on_call_started(1));
    EXPECT_CALL(*observer, on_call_finished(testing::Ref(call)));
    EXPECT_CALL(*observer, on_notification(1, 2, Direction::to_client));
    EXPECT_CALL(*observer, on_dropped(1, DropReason::not_rpc));
    EXPECT_CALL(*observer, on_child_state(1, ChildState::ready, ChildState::busy));
    EXPECT_CALL(*observer, on_child_started(1, StartReason::demand));
    EXPECT_CALL(*observer, on_child_ready(1, Duration(3)));
    EXPECT_CALL(*observer, on_child_exited(1, ExitReason::hung));
    EXPECT_CALL(*observer, on_session_opened(1));
    EXPECT_CALL(*observer, on_session_closed(1));
    EXPECT_CALL(*observer, on_connection_opened(Transport::http));
    EXPECT_CALL(*observer, on_connection_closed(Transport::http));
    EXPECT_CALL(*observer, on_bytes(Transport::http, Flow::out, 5));
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
  observers.on_session_closed(1);
  observers.on_connection_opened(Transport::http);
  observers.on_connection_closed(Transport::http);
  observers.on_bytes(Transport::http, Flow::out, 5);
}

}  // namespace
}  // namespace stdgate
