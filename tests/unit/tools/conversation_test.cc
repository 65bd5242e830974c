// Conversation: how it ends, and what it takes for an answer. The test itself ends the link.
#include "gateway/tools/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gateway/app/dialects.h"
#include "gateway/tools/findings.h"
#include "tests/support/loop_runner.h"

namespace stdgate::test {

namespace {

using std::chrono::milliseconds;

// The command starts at once. When it is asked to end, it has ended already, but the loop is told
// `told_after` later.
class EndingLauncher final : public pool::ChildLauncher {
 public:
  explicit EndingLauncher(net::Loop& loop) : loop_(loop) {}

  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& /*spec*/,
                                          pool::ChildEvents& events) override {
    events_ = &events;
    start_.arm(loop_.now());
    return std::make_unique<Link>(*this);
  }

  void exit() {
    const TimePoint begin = real_now();
    while (real_now() - begin < told_after) {
    }
    events_->on_exit(status);
  }

  // What the command says to each message.
  std::string says;

  pool::ExitStatus status;
  Duration told_after{0};
  bool exits_when_asked = true;

 private:
  struct Link final : pool::ChildLink {
    explicit Link(EndingLauncher& launcher) : owner(launcher) {}
    void write(std::span<const std::string_view> /*parts*/) override {
      owner.say_.arm(owner.loop_.now());
    }
    [[nodiscard]] size_t unsent_bytes() const override { return 0; }
    void set_reading(bool /*reading*/) override {}
    // The end comes in the same turn of the loop, so the loop's time has not advanced.
    void end(Duration /*grace*/) override {
      if (owner.exits_when_asked) owner.exit();
    }
    EndingLauncher& owner;
  };

  static TimePoint real_now() { return TimePoint(Duration(uv_hrtime())); }

  net::Loop& loop_;
  pool::ChildEvents* events_ = nullptr;
  Timer start_{loop_.timers(), [this] { events_->on_started(1); }};
  Timer say_{loop_.timers(), [this] { events_->on_output(says); }};
};

class Conversations : public testing::Test {
 protected:
  Conversations() { EXPECT_TRUE(conversation_.start(std::chrono::seconds(60))); }

  net::Loop loop_;
  EndingLauncher launcher_{loop_};
  const pool::LaunchSpec launch_;
  const std::unique_ptr<pool::Dialect> dialect_ = app::make_dialect({}, {});
  const config::LimitsConfig limits_;
  tools::Conversation conversation_{
      {loop_, launcher_, launch_, *dialect_, limits_, [] { return uint64_t{0}; }},
      rpc::Framing::newline};
};

TEST_F(Conversations, ACommandThatEndsWhenItIsAskedHasNotEndedByItself) {
  // A process of the command's group continued for 2.1 ms. Measured in whole milliseconds, that can
  // be 3.
  launcher_.told_after = std::chrono::microseconds(2100);
  launcher_.status.lingered = milliseconds(3);
  conversation_.end(std::chrono::seconds(60));
  ASSERT_TRUE(conversation_.seen().exit);
  EXPECT_FALSE(conversation_.seen().exited_by_itself);
  EXPECT_TRUE(conversation_.seen().ended_after);
}

TEST_F(Conversations, ACommandWhoseHelpersOutliveTheRequestHasEndedByItself) {
  launcher_.status.lingered = std::chrono::minutes(1);
  conversation_.end(std::chrono::seconds(60));
  EXPECT_TRUE(conversation_.seen().exited_by_itself);
  EXPECT_FALSE(conversation_.seen().ended_after);
}

TEST(ConversationVersion, MayBeOmittedWithALenientEnvelope) {
  using config::EnvelopeForm;
  for (const EnvelopeForm form : {EnvelopeForm::strict, EnvelopeForm::lenient}) {
    net::Loop loop;
    EndingLauncher launcher(loop);
    launcher.says = "{\"id\":1,\"result\":{}}\n";
    const pool::LaunchSpec launch;
    const auto dialect = app::make_dialect({}, {});
    const config::LimitsConfig limits;
    tools::Conversation conversation(
        {loop, launcher, launch, *dialect, limits, [] { return uint64_t{0}; }, {}, form},
        rpc::Framing::newline);
    ASSERT_TRUE(conversation.start(std::chrono::seconds(60)));
    const auto answer =
        conversation.ask(1, R"({"jsonrpc":"2.0","id":1,"method":"m"})", std::chrono::seconds(60));
    EXPECT_EQ(answer.has_value(), form == EnvelopeForm::lenient);
    config::BackendConfig backend;
    const auto findings =
        tools::findings_of(conversation.seen(), {backend, limits, {}, "m", answer.has_value()});
    const bool has_advice = std::ranges::any_of(findings, [](const tools::Finding& finding) {
      return finding.code == "not-json-rpc" &&
             finding.advice.find("envelope: lenient") != std::string::npos;
    });
    EXPECT_EQ(has_advice, form == EnvelopeForm::strict);
    conversation.end(std::chrono::seconds(60));
  }
}

}  // namespace

}  // namespace stdgate::test

namespace stdgate::tools {

namespace {

// The texts that are found, with "|" for line breaks.
std::vector<std::string> found(const std::vector<std::string>& lines) {
  SplitMessage split;
  std::vector<std::string> texts;
  for (const std::string& line : lines) {
    if (!split.take(line)) continue;
    texts.push_back(split.text());
    for (char& c : texts.back()) c = c == '\n' ? '|' : c;
  }
  return texts;
}

TEST(SplitMessage, IsFoundBetweenOtherLines) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(found({"noise", "{", "  \"a\": [", "    {}", "  ]", "}", "{\"b\":1}"}),
            Texts{"{|  \"a\": [|    {}|  ]|}|"});
  EXPECT_EQ(found({"{\"a\":1}", "[1]", "noise {", "}"}), Texts{});
  EXPECT_EQ(found({"{\"a\": \"}\\\"}{\",", "\"b\": 1}"}), Texts{"{\"a\": \"}\\\"}{\",|\"b\": 1}|"});
  EXPECT_EQ(found({"[", "{", "}", "]", "{", "}"}), (Texts{"[|{|}|]|", "{|}|"}));
}

TEST(SplitMessage, HasALimit) {
  // Together with a bracket and a line break, the text is half as large as the limit.
  const std::string half(SplitMessage::kMaxSize / 2 - 2, ' ');
  EXPECT_EQ(found({"{" + half, half + "}"}).size(), 1U);
  EXPECT_EQ(found({"{" + half, half + " }"}).size(), 0U);
  EXPECT_EQ(found({"{" + half, half + " }", "{", "}"}).size(), 1U) << "the next one is found";
}

}  // namespace

}  // namespace stdgate::tools
