// Reports of a backend to the audit. When the audit cannot record, or memory is short, the backend
// refuses.
#include <gmock/gmock.h>

#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Keeps each report as "method outcome notes".
class FakeAudit final : public Audit {
 public:
  [[nodiscard]] bool covers(std::string_view method) const override { return method != "free"; }
  [[nodiscard]] bool can_record() const override { return is_good; }
  void describe_call(const AuditedCall& call, bool is_covered, std::string& notes) override {
    notes = std::string(is_covered ? "covered " : "") + std::string(call.params);
  }
  bool record_call(std::string_view backend, const CallRecord& call, bool is_covered,
                   std::string_view notes) override {
    lines.push_back(std::string(backend) + " " + std::string(call.method_name) + " " +
                    std::string(call.outcome.name()) + (is_covered ? " covered" : "") + " [" +
                    std::string(notes) + "]");
    return keeps;
  }
  void record_notification(std::string_view /*backend*/, const CallRecord& notification,
                           bool /*is_covered*/, std::string_view /*notes*/) override {
    lines.push_back("notification " + std::string(notification.method_name) + " " +
                    std::string(notification.outcome.name()));
  }
  void on_child_message(const AuditedChildMessage& message) override {
    lines.push_back("asked " + std::string(message.method) + " " + std::string(message.outcome));
  }
  void on_session_opened(const AuditedSession& session) override {
    lines.push_back("opened " + std::string(session.backend) + " " +
                    session.client.address.to_string());
  }
  void on_session_ended(const AuditedSession& session) override {
    lines.push_back("ended " + std::string(session.backend));
  }
  void on_refused(const AuditedRefusal& /*refusal*/) override {}
  void on_handshake_refused(const AuditedHandshake& /*handshake*/) override {}

  bool is_good = true;
  bool keeps = true;
  std::vector<std::string> lines;
};

struct AuditedBackend : testing::Test {
  AuditedBackend() {
    backend.start();
    launcher.child(0).start();
  }
  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
    options.config.pool.min = 1;
    config::RuleConfig rule;
    rule.allow = {"*"};
    rule.except = {"denied"};
    options.config.rules = {rule};
    return options;
  }
  backend::Admission send(std::string text) {
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    call::CallContext context;
    context.caller = client.caller();
    context.arrived = clock.now();
    return backend.accept(parser.parse(text).value().messages[0], context);
  }
  void answer() { launcher.child(0).answer(launcher.child(0).take_ids().at(0)); }

  ManualClock clock;
  TimerQueue timers;
  RecordingLog log;
  RecordingObserver observer;
  FakeLauncher launcher;
  Random random{7};
  StoragePool storages;
  session::Callers callers{10};
  FakeAudit audit;
  policy::Overload overload{std::chrono::seconds(1)};
  pool::CoreServices services{clock,    timers,  log,     observer, launcher, random,
                              storages, nullptr, nullptr, &audit,   &overload};
  backend::Backend backend{BackendId{0}, options(), std::make_unique<pool::JsonRpcDialect>(""),
                           callers, services};
  FakeClient client{callers};
};

TEST_F(AuditedBackend, TellsOfEachCallWithWhatItWasAbout) {
  send(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})");
  EXPECT_THAT(audit.lines, IsEmpty());
  answer();
  send(R"({"jsonrpc":"2.0","id":2,"method":"free","params":[2]})");
  answer();
  send(request_text("3", "denied"));
  EXPECT_THAT(audit.lines, ElementsAre("fake m ok covered [covered [1]]", "fake free ok [[2]]",
                                       "fake denied denied covered [covered ]"));
}

TEST_F(AuditedBackend, TellsOfNotifications) {
  EXPECT_EQ(send(note_text("m")), backend::Admission::delivered);
  EXPECT_EQ(send(note_text("free")), backend::Admission::delivered);
  EXPECT_EQ(send(note_text("denied")), backend::Admission::dropped);
  EXPECT_THAT(audit.lines, ElementsAre("notification m ok", "notification denied denied"));
}

TEST_F(AuditedBackend, TakesNothingThatCannotBeRecorded) {
  audit.is_good = false;
  send(request_text("1"));
  ASSERT_THAT(client.answers, SizeIs(1));
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::unrecorded);
  EXPECT_EQ(client.answers[0].retry_after, rpc::kRetryHint);
  EXPECT_EQ(send(note_text("m")), backend::Admission::refused_overloaded);
  EXPECT_THAT(launcher.child(0).take_lines(), IsEmpty());
  send(request_text("2", "free"));
  answer();
  EXPECT_THAT(client.answers, SizeIs(2));
  EXPECT_FALSE(client.answers[1].fault.has_value());
}

TEST_F(AuditedBackend, AnAnswerWithoutItsLineStaysHere) {
  send(request_text("1"));
  audit.keeps = false;
  answer();
  ASSERT_THAT(client.answers, SizeIs(1));
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::unrecorded);
  EXPECT_THAT(client.answers[0].text, testing::Not(testing::HasSubstr("true")));
  EXPECT_THAT(client.answers[0].text, testing::HasSubstr(R"("id":1,)"));
}

TEST_F(AuditedBackend, TellsOfSessions) {
  FakeSession session(callers);
  const auto id =
      backend.open_session(session.caller(), session, {*ClientAddress::parse("192.0.2.1")});
  ASSERT_TRUE(id.has_value());
  backend.close_session(*id, {});
  EXPECT_THAT(audit.lines, ElementsAre("opened fake 192.0.2.1", "ended fake"));
}

TEST_F(AuditedBackend, ShortOfMemoryItTakesNoCallAndNoSession) {
  send(request_text("1"));
  for (unsigned i = 0; i < policy::Overload::kFullReadings; ++i) overload.note_memory(0.96, 0);
  answer();  // calls under way continue
  send(request_text("2"));
  ASSERT_THAT(client.answers, SizeIs(2));
  EXPECT_FALSE(client.answers[0].fault.has_value());
  EXPECT_EQ(client.answers[1].fault, rpc::Fault::overloaded);
  FakeSession session(callers);
  EXPECT_EQ(backend.open_session(session.caller(), session, {}).error().fault,
            rpc::Fault::overloaded);
  overload.note_memory(0.89, 0);
  send(request_text("3"));
  answer();
  EXPECT_FALSE(client.answers[2].fault.has_value());
  EXPECT_TRUE(backend.open_session(session.caller(), session, {}).has_value());
}

TEST_F(AuditedBackend, ALateLoopTakesCallsButNoSession) {
  overload.note_lag(std::chrono::seconds(2));
  overload.note_lag(std::chrono::seconds(2));
  FakeSession session(callers);
  EXPECT_EQ(backend.open_session(session.caller(), session, {}).error().fault,
            rpc::Fault::overloaded);
  send(request_text("1"));
  answer();
  EXPECT_FALSE(client.answers[0].fault.has_value());
}

}  // namespace
}  // namespace stdgate::test
