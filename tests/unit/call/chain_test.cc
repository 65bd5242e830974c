// The chain: in which order filters see what passes, and what each sees of what another one has
// refused, answered or changed.
#include "gateway/call/chain.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/call/call_clock.h"
#include "tests/support/fake_client.h"
#include "tests/support/manual_clock.h"
#include "tests/support/parsed_text.h"
#include "tests/support/recording_log.h"
#include "tests/support/recording_observer.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;

struct JsonRpc final : call::Protocol {
  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
};

using Seen = std::vector<std::string>;

// Sees everything, and does what the test wants.
class Watcher final : public call::Filter {
 public:
  Watcher(std::string name, Seen& seen, call::CallStore& calls)
      : name_(std::move(name)), seen_(seen), count_(calls.reserve<int>()) {}

  void on_begin(call::Call& call, const call::Arrival& /*arrival*/) override {
    note("begin");
    ++count_.of(call.slots);
  }
  void on_request(call::CallPtr& call, const call::Request& /*request*/) override {
    note("request");
    ++count_.of(call->slots);
    if (at_request) at_request(call);
  }
  call::Passage on_notification(const call::Notification& /*notification*/) override {
    note("notification");
    return passage;
  }
  void on_notification_judged(const call::Notification& /*notification*/,
                              call::Passage judged) override {
    note(judged == call::Passage::open ? "let through" : "not let through");
  }
  void on_answer(call::CallPtr& call, call::Answer& answer) override {
    note("answer " + std::string(answer.payload));
    if (at_answer) at_answer(call, answer);
  }
  void on_fault(call::CallPtr& /*call*/, const rpc::FaultReport& report) override {
    note("fault " + std::string(rpc::fault_name(report.fault)));
  }
  void on_end(const call::Call& call, call::End& end) override {
    note("end " + std::string(end.outcome.name()) + " " + std::to_string(*count_.find(call.slots)));
  }
  void on_ended(const call::Call& /*call*/) override { note("ended"); }

  std::function<void(call::CallPtr&)> at_request;
  std::function<void(call::CallPtr&, call::Answer&)> at_answer;
  call::Passage passage = call::Passage::open;

 private:
  void note(const std::string& what) { seen_.push_back(name_ + ": " + what); }

  const std::string name_;
  Seen& seen_;
  const call::Slot<int> count_;
};

// Takes each call, as what answers.
struct Bottom final : call::Filter {
  void on_request(call::CallPtr& call, const call::Request& /*request*/) override {
    taken = std::move(call);
  }
  call::CallPtr taken;
};

struct ChainOfTwo : testing::Test {
  ChainOfTwo() {
    chain.add("first", first);
    chain.add("second", second);
    chain.add("bottom", bottom);
  }
  void send(std::string id = "1") {
    ParsedText text(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})");
    call::CallContext context;
    context.caller = client.caller();
    call::CallPtr call = chain.begin(id, {context, &text.envelope, "m"});
    chain.pass(std::move(call), {text.envelope, "m", call::ClientIntent(), context});
  }
  void answer(const std::string& text) {
    ParsedText parsed(text);
    chain.on_answer(std::move(bottom.taken), parsed.envelope);
  }
  [[nodiscard]] Seen take_seen() { return std::exchange(seen, {}); }

  ManualClock clock;
  RecordingLog log;
  RecordingObserver observer;
  session::Callers callers{10};
  FakeClient client{callers};
  JsonRpc protocol;
  config::BackendConfig config;
  bool traces = false;
  call::CallStore calls{1, 2};
  call::Chain chain{{clock, nullptr, observer, callers, protocol, calls, 0, config, log, traces}};
  Seen seen;
  Watcher first{"first", seen, calls};
  Watcher second{"second", seen, calls};
  Bottom bottom;
};

TEST_F(ChainOfTwo, RequestsGoDownAndAnswersUp) {
  EXPECT_THAT(chain.names(), ElementsAre("first", "second", "bottom"));
  send();
  EXPECT_THAT(take_seen(),
              ElementsAre("first: begin", "second: begin", "first: request", "second: request"));
  answer(R"({"jsonrpc":"2.0","id":77,"result":[1]})");
  EXPECT_THAT(take_seen(),
              ElementsAre("second: answer [1]", "first: answer [1]", "second: end ok 2",
                          "first: end ok 2", "second: ended", "first: ended"));
  EXPECT_THAT(client.texts(), ElementsAre(R"({"jsonrpc":"2.0","id":1,"result":[1]})"));
  EXPECT_EQ(observer.records.size(), 1U);
}

TEST_F(ChainOfTwo, WhatAFilterRefusesTheOnesBelowDoNotSee) {
  second.at_request = [this](call::CallPtr& call) {
    chain.on_fault(std::move(call), rpc::faults::short_of_memory());
  };
  send();
  EXPECT_THAT(take_seen(),
              ElementsAre("first: begin", "second: begin", "first: request", "second: request",
                          "first: fault overloaded", "second: end overloaded 2",
                          "first: end overloaded 2", "second: ended", "first: ended"));
  EXPECT_EQ(bottom.taken, nullptr);
  EXPECT_EQ(client.answers.size(), 1U);

  first.at_request = std::exchange(second.at_request, nullptr);
  send("2");
  EXPECT_THAT(take_seen(), ElementsAre("first: begin", "second: begin", "first: request",
                                       "second: end overloaded 1", "first: end overloaded 2",
                                       "second: ended", "first: ended"));
}

TEST_F(ChainOfTwo, WhatAFilterAnswersTheOnesAboveSeeAsAnAnswer) {
  second.at_request = [this](call::CallPtr& call) { chain.on_result(std::move(call), "{}"); };
  send();
  EXPECT_THAT(take_seen(), ElementsAre("first: begin", "second: begin", "first: request",
                                       "second: request", "first: answer {}", "second: end ok 2",
                                       "first: end ok 2", "second: ended", "first: ended"));
  EXPECT_THAT(client.texts(), ElementsAre(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
}

TEST_F(ChainOfTwo, WhatAFilterChangesTheOnesAboveSeeChanged) {
  second.at_answer = [](call::CallPtr&, call::Answer& answer) { answer.payload = "[]"; };
  send();
  answer(R"({"result":[1],"id":77,"jsonrpc":"2.0"})");
  EXPECT_THAT(seen, testing::Contains("first: answer []"));
  EXPECT_THAT(client.texts(), ElementsAre(R"({"result":[],"id":1,"jsonrpc":"2.0"})"));
  second.at_answer = [](call::CallPtr&, call::Answer& answer) {
    answer.tail = R"(,"error":{"code":1,"message":"m"}})";
  };
  send("2");
  answer(R"({"jsonrpc":"2.0","id":78,"result":[1]})");
  EXPECT_EQ(client.texts().back(), R"({"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}})");
}

TEST_F(ChainOfTwo, AFilterMayKeepACallAndItsAnswer) {
  call::CallPtr kept;
  second.at_answer = [&kept](call::CallPtr& call, call::Answer&) { kept = std::move(call); };
  send();
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_EQ(take_seen().back(), "second: answer 1");
  EXPECT_EQ(client.answers.size(), 0U);
  chain.on_fault(std::move(kept), rpc::faults::shutting_down());
  EXPECT_THAT(take_seen(), ElementsAre("first: fault overloaded", "second: end overloaded 2",
                                       "first: end overloaded 2", "second: ended", "first: ended"))
      << "from where it was";
}

TEST_F(ChainOfTwo, NotificationsAreJudgedOnTheWayDown) {
  const auto pass = [this] {
    ParsedText text(R"({"jsonrpc":"2.0","method":"m"})");
    return chain.pass(call::Notification{text.envelope, "m", {}, {}});
  };
  EXPECT_EQ(pass(), call::Passage::open);
  EXPECT_THAT(take_seen(), ElementsAre("first: notification", "second: notification",
                                       "first: let through", "second: let through"));
  first.passage = call::Passage::denied;
  EXPECT_EQ(pass(), call::Passage::denied);
  EXPECT_THAT(take_seen(), ElementsAre("first: notification", "first: not let through",
                                       "second: not let through"));
}

// One that overrides nothing but what it needs.
struct EndOnly final : call::Filter {
  void on_end(const call::Call& /*call*/, call::End& end) override { end.reply = nullptr; }
};

TEST_F(ChainOfTwo, AFilterMayTakeTheReplyAway) {
  EndOnly silent;
  chain.add("silent", silent);
  send();
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_EQ(client.answers.size(), 0U);
  EXPECT_EQ(observer.records.size(), 1U) << "and the call has ended";
}

}  // namespace
}  // namespace stdgate::test
