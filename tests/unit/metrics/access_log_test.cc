#include "metrics/logs/access_log.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

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

TEST(AccessLog, SaysWhoseTheCallWasAndWhichChildHadIt) {
  RecordingLog log;
  logs::AccessLog access(log);
  CallRecord call = sample();
  call.session = SessionName::of(0x0123abcd);
  call.client = *ClientAddress::parse("192.0.2.7");
  call.principal = "ada";
  call.child_number = 12;
  call.child_pid = 4711;
  access.on_call_finished(call);
  EXPECT_THAT(log.lines[0].fields, HasSubstr(" connection=7 session=0123abcd client=192.0.2.7 "
                                             "principal=ada child=12 pid=4711 bytes_in="));
  call.session = {};
  call.client = *ClientAddress::parse("2001:db8::1");
  call.principal = {};
  call.child_number = 0;
  access.on_call_finished(call);
  EXPECT_THAT(log.lines[1].fields, HasSubstr(" connection=7 client=2001:db8::1 bytes_in="));
}

TEST(AccessLog, SaysWhichRevisionTheClientSpeaks) {
  RecordingLog log;
  logs::AccessLog access(log);
  CallRecord call = sample();
  call.revision = "2025-11-25";
  call.client_kind = PeerKind::stateful;
  access.on_call_finished(call);
  EXPECT_THAT(log.lines[0].fields, HasSubstr(" transport=rpc revision=2025-11-25 duration_ms="));
  call.revision = "2026-07-28";
  call.client_kind = PeerKind::stateless;
  access.on_call_finished(call);
  EXPECT_THAT(log.lines[1].fields, HasSubstr(" era=modern revision=2026-07-28 duration_ms="));
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

// The texts are longer than usual, and each byte needs an escape. The line has room for all of it.
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

// Clients of both eras find out the era of a server by one refused request, so such a refusal is no
// warning.
TEST(AccessLog, TellsANegotiationForDebuggingOnly) {
  RecordingLog log;
  logs::AccessLog access(log);
  CallRecord call = sample();
  call.outcome = Outcome::other_era();
  access.on_call_finished(call);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].level, LogLevel::debug);
  EXPECT_THAT(log.lines[0].fields, HasSubstr(" outcome=other_era "));
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

}  // namespace
}  // namespace stdgate
