// The chain: the order of filters, and what each filter sees of a call that another filter has
// refused, answered or changed.
#include "gateway/call/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/call/call.h"
#include "gateway/call/held_calls.h"
#include "gateway/rpc/message_text.h"
#include "tests/support/fake_client.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/recording_observer.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {

namespace {

using testing::ElementsAre;

struct JsonRpc final : call::Protocol {
  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
};

using Seen = std::vector<std::string>;

// Records every event, and acts as the test says.
class Watcher final : public call::Filter {
 public:
  Watcher(std::string name, Seen& seen, call::CallStore& calls)
      : name_(std::move(name)), seen_(seen), count_(calls.reserve<int>()) {}

  void on_begin(call::Call& call, const call::Arrival& /*arrival*/) override {
    note("begin");
    ++count_.of(call.slots);
  }
  void on_request(call::CallPtr& call, const call::Request& request) override {
    note("request");
    ++count_.of(call->slots);
    if (at_request) at_request(call);
    if (at_whole_request) at_whole_request(call, request);
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
  void on_lost(call::CallPtr& /*call*/, std::string_view text,
               const rpc::FaultReport& /*report*/) override {
    note("lost " + std::string(text));
  }
  void on_released(call::CallPtr call, const call::Request& request) override {
    note("released " + std::string(request.message.text));
    if (at_release) at_release(call, request);
    if (call != nullptr) chain->go_on(std::move(call), request);
  }
  void on_overdue(call::CallPtr call) override {
    note("overdue " + call->id);
    if (at_overdue) at_overdue(call);
    chain->on_fault(std::move(call), rpc::faults::because(rpc::Fault::timeout, "late"));
  }
  bool on_child_message(call::ChildMessage& message) override {
    note("child says " + std::string(message.method()));
    if (!told_instead.empty()) message.replace(told_instead);
    return lets_children_through;
  }
  void on_child_gone(const call::ChildRef& child) override {
    note("gone " + std::to_string(child.number));
  }
  [[nodiscard]] TimePoint needed_until(uint64_t /*child*/) const override { return needed; }
  [[nodiscard]] call::ChildWork work_of(uint64_t /*child*/) const override { return work; }

  call::Chain* chain = nullptr;
  std::function<void(call::CallPtr&, const call::Request&)> at_whole_request;
  std::function<void(call::CallPtr&, const call::Request&)> at_release;
  std::string told_instead;
  bool lets_children_through = true;
  TimePoint needed = TimePoint::min();
  call::ChildWork work;
  std::function<void(call::CallPtr&)> at_request;
  std::function<void(call::CallPtr&)> at_overdue;
  std::function<void(call::CallPtr&, call::Answer&)> at_answer;
  call::Passage passage = call::Passage::open;

 private:
  void note(const std::string& what) { seen_.push_back(name_ + ": " + what); }

  const std::string name_;
  Seen& seen_;
  const call::Slot<int> count_;
};

// The last filter of the chain, which takes every call.
struct Bottom final : call::Filter {
  void on_request(call::CallPtr& call, const call::Request& request) override {
    texts.emplace_back(request.message.text);
    methods.emplace_back(request.method);
    tokens.emplace_back(request.intent.progress_token);
    taken = std::move(call);
  }
  call::CallPtr taken;
  Seen texts;
  Seen methods;
  Seen tokens;
};

struct ChainOfTwo : testing::Test {
  ChainOfTwo() {
    chain.add("first", first);
    chain.add("second", second);
    chain.add("bottom", bottom);
    first.chain = second.chain = &chain;
  }
  void send(std::string id = "1") {
    ParsedText text(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})");
    call::CallContext context;
    context.caller = client.caller();
    context.arrived = clock.now();
    call::CallPtr call = chain.begin(id, {context, &text.envelope, "m"});
    chain.pass(std::move(call), {text.envelope, "m", call::ClientIntent(), context});
  }
  // Makes the second filter hold every request for `time`.
  void hold_for(Duration time) {
    second.at_request = nullptr;
    second.at_whole_request = [this, time](call::CallPtr& call, const call::Request& request) {
      has_room = chain.hold(call, request, clock.now() + time);
      if (call != nullptr) chain.on_fault(std::move(call), rpc::faults::overloaded("full"));
    };
  }
  // The second filter keeps each call without its request, for this time; max(): without an end.
  void keep_for(Duration time) {
    second.at_request = [this, time](call::CallPtr& call) {
      kept = call.get();
      const bool may_stay = time == Duration::max();
      chain.keep(std::move(call), may_stay ? TimePoint::max() : clock.now() + time);
    };
  }
  void advance(Duration time) {
    clock.set(clock.now() + time);
    timers.run_due(clock.now());
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
  bool logs_messages = false;
  call::CallStore calls{1, 2};
  TimerQueue timers;
  call::Chain chain{{clock, nullptr, observer, callers, protocol, calls, 0, config, log,
                     logs_messages, &timers, nullptr}};
  Seen seen;
  Watcher first{"first", seen, calls};
  Watcher second{"second", seen, calls};
  Bottom bottom;
  bool has_room = false;
  const call::Call* kept = nullptr;
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

// --- Changed requests and held calls

TEST_F(ChainOfTwo, AFilterHasAnotherRequestGoOn) {
  first.at_whole_request = [this](call::CallPtr& call, const call::Request& request) {
    ParsedText other(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[2]})");
    call->route.child = 7;
    chain.go_on(std::move(call), {other.envelope, request.method, request.intent, request.context});
  };
  send();
  EXPECT_THAT(take_seen(),
              ElementsAre("first: begin", "second: begin", "first: request", "second: request"));
  EXPECT_THAT(bottom.texts, ElementsAre(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[2]})"));
  EXPECT_EQ(bottom.taken->route.child, 7U);
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_THAT(take_seen(), testing::Contains("first: answer 1"));
}

TEST_F(ChainOfTwo, AHeldCallGoesOnWithAllThatItHas) {
  hold_for(std::chrono::seconds(5));
  {
    // The client's text no longer exists when the call continues.
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"t":42}})";
    ParsedText parsed(text);
    call::ClientIntent intent;
    intent.progress_token = parsed.envelope.text.substr(parsed.envelope.text.find("42"), 2);
    call::CallContext context;
    context.caller = client.caller();
    context.arrived = clock.now();
    context.tag = 3;
    call::CallPtr call = chain.begin("1", {context, &parsed.envelope, "m"});
    chain.pass(std::move(call), {parsed.envelope, std::string("m"), intent, context});
  }
  EXPECT_TRUE(has_room);
  EXPECT_EQ(chain.held(), 1U);
  EXPECT_EQ(bottom.taken, nullptr);
  seen.clear();
  chain.release(first);
  EXPECT_EQ(chain.held(), 1U) << "another filter has released what it holds";
  chain.release(second);
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_THAT(bottom.texts,
              ElementsAre(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"t":42}})"));
  EXPECT_THAT(bottom.methods, ElementsAre("m"));
  EXPECT_THAT(bottom.tokens, ElementsAre("42"));
  EXPECT_EQ(take_seen().size(), 1U) << "the filters below alone";
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST_F(ChainOfTwo, AHeldCallGoesOnWhenItsTimeIsUp) {
  hold_for(std::chrono::seconds(5));
  send("1");
  advance(std::chrono::seconds(1));
  send("2");
  EXPECT_EQ(chain.held(), 2U);
  advance(std::chrono::seconds(4));
  EXPECT_EQ(chain.held(), 1U);
  EXPECT_NE(bottom.taken, nullptr);
  advance(std::chrono::seconds(1));
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_EQ(bottom.texts.size(), 2U);
}

TEST_F(ChainOfTwo, ACallMayBeHeldAgainWithTheSameRequest) {
  hold_for(std::chrono::seconds(5));
  send();
  const char* text = nullptr;
  int releases = 0;
  second.at_release = [&](call::CallPtr& call, const call::Request& request) {
    const char* const seen_text = request.message.text.data();
    EXPECT_TRUE(text == nullptr || text == seen_text) << "it has been copied again";
    text = seen_text;
    if (++releases == 3) return;
    EXPECT_TRUE(chain.hold(call, request, TimePoint::max()));
  };
  advance(std::chrono::seconds(5));
  EXPECT_EQ(chain.held_requests(), 1U);
  chain.release(second);
  EXPECT_EQ(chain.held_requests(), 1U);
  chain.release(second);
  EXPECT_EQ(releases, 3);
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_NE(bottom.taken, nullptr);
}

TEST_F(ChainOfTwo, AHeldCallEndsAtItsDeadline) {
  config.timeout = std::chrono::seconds(2);
  hold_for(std::chrono::seconds(5));
  send();
  seen.clear();
  advance(std::chrono::seconds(2));
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_EQ(bottom.taken, nullptr);
  EXPECT_EQ(take_seen().front(), "first: fault timeout");
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::timeout);
}

TEST_F(ChainOfTwo, AHeldCallIsFoundByItsClientAndId) {
  hold_for(std::chrono::seconds(5));
  send("1");
  send("2");
  EXPECT_EQ(chain.take_held(client.caller(), "3"), nullptr);
  const call::CallPtr cancelled = chain.take_held(client.caller(), "1");
  ASSERT_NE(cancelled, nullptr);
  EXPECT_EQ(cancelled->id, "1");
  EXPECT_EQ(chain.held(), 1U);
  const auto left = chain.take_held([](const call::Call&) { return true; });
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front()->id, "2");
  EXPECT_EQ(calls.index().find(client.caller(), "2"), nullptr) << "it is about to end";
  advance(std::chrono::seconds(5));
  EXPECT_EQ(bottom.taken, nullptr);
}

TEST_F(ChainOfTwo, OnlySoManyCallsAreHeld) {
  config.pool.queue = 2;
  hold_for(std::chrono::seconds(5));
  for (const char* const id : {"1", "2", "3"}) send(id);
  EXPECT_FALSE(has_room);
  EXPECT_EQ(chain.held(), 2U);
  EXPECT_EQ(client.answers.size(), 1U);
  chain.fail_held(rpc::faults::shutting_down());
  EXPECT_EQ(client.answers.size(), 3U);

  config.pool.queue = 10;
  config.pool.queue_bytes = 2 * std::string(R"({"jsonrpc":"2.0","id":1,"method":"m"})").size();
  for (const char* const id : {"4", "5"}) send(id);
  EXPECT_TRUE(has_room);
  send("6");
  EXPECT_FALSE(has_room);
  chain.fail_held(rpc::faults::shutting_down());
}

// --- Calls that are kept without their requests

TEST_F(ChainOfTwo, AKeptCallComesBackWhenItsTimeIsUp) {
  keep_for(std::chrono::seconds(5));
  send();
  EXPECT_EQ(chain.held(), 1U);
  seen.clear();
  chain.release(second);
  advance(std::chrono::seconds(4));
  EXPECT_EQ(chain.held(), 1U) << "only calls with requests are released";
  advance(std::chrono::seconds(1));
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_THAT(take_seen(),
              ElementsAre("second: overdue 1", "first: fault timeout", "second: end timeout 2",
                          "first: end timeout 2", "second: ended", "first: ended"));
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST_F(ChainOfTwo, AnAnsweredCallThatIsKeptEndsWithoutItsDeadline) {
  config.timeout = std::chrono::seconds(2);
  second.at_answer = [this](call::CallPtr& call, call::Answer&) {
    chain.keep(std::move(call), clock.now() + std::chrono::seconds(5));
  };
  send();
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_EQ(chain.held(), 1U);
  advance(std::chrono::seconds(3));
  EXPECT_EQ(chain.held(), 1U);
  EXPECT_TRUE(client.answers.empty());
  advance(std::chrono::seconds(2));
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST_F(ChainOfTwo, AKeptCallIsFoundByItsClientAndIdAndByItsFilter) {
  keep_for(Duration::max());
  send("1");
  const call::Call& one = *kept;
  send("2");
  const call::CallPtr cancelled = chain.take_held(client.caller(), "2");
  ASSERT_NE(cancelled, nullptr);
  EXPECT_EQ(cancelled->id, "2");
  advance(std::chrono::hours(100));
  EXPECT_EQ(chain.held(), 1U) << "it may stay";
  const call::CallPtr back = chain.take_kept(one);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->id, "1");
  EXPECT_EQ(back->place, call::CallPlace::nowhere);
  EXPECT_EQ(chain.held(), 0U);
}

TEST_F(ChainOfTwo, KeptCallsTakeNoRoomInTheQueue) {
  config.pool.queue = 1;
  keep_for(Duration::max());
  for (const char* const id : {"1", "2", "3"}) send(id);
  hold_for(std::chrono::seconds(5));
  send("4");
  EXPECT_TRUE(has_room);
  EXPECT_EQ(chain.held(), 4U);
  send("5");
  EXPECT_FALSE(has_room);
  chain.fail_held(rpc::faults::shutting_down());
  EXPECT_EQ(client.answers.size(), 5U);
}

TEST_F(ChainOfTwo, ACallThatIsDueMayEndAnotherThatIsDueToo) {
  keep_for(std::chrono::seconds(5));
  for (const char* const id : {"1", "2"}) send(id);
  second.at_overdue = [this](call::CallPtr& /*call*/) {
    chain.fail_held(rpc::faults::shutting_down());
  };
  advance(std::chrono::seconds(5));
  EXPECT_EQ(chain.held(), 0U);
  EXPECT_EQ(client.answers.size(), 2U);
}

// --- Children

TEST_F(ChainOfTwo, ARequestThatNoChildGetsComesBack) {
  send();
  seen.clear();
  chain.on_lost(bottom.taken, "text", rpc::faults::child_failed("gone"));
  EXPECT_THAT(take_seen(), ElementsAre("second: lost text", "first: lost text"));
  ASSERT_NE(bottom.taken, nullptr) << "nobody has taken it";
  answer(R"({"jsonrpc":"2.0","id":77,"result":1})");
  EXPECT_THAT(take_seen(), testing::Contains("second: answer 1")) << "it is where it was";
}

TEST_F(ChainOfTwo, WhatChildrenSayIsSeenFromBelow) {
  ParsedText text(R"({"jsonrpc":"2.0","method":"n","params":[1]})");
  second.told_instead = R"({"jsonrpc":"2.0","method":"n","params":[2]})";
  call::ChildMessage message(text.envelope, "n", {.number = 5});
  EXPECT_TRUE(chain.pass(message));
  EXPECT_THAT(take_seen(), ElementsAre("second: child says n", "first: child says n"));
  EXPECT_EQ(message.message().params, "[2]");

  EXPECT_TRUE(chain.pass(message, &second));
  EXPECT_THAT(take_seen(), ElementsAre("first: child says n")) << "from the one above on";

  second.lets_children_through = false;
  EXPECT_FALSE(chain.pass(message));
  EXPECT_THAT(take_seen(), ElementsAre("second: child says n"));
}

TEST_F(ChainOfTwo, AChildIsNeededAsLongAsAnyFilterNeedsIt) {
  EXPECT_EQ(chain.needed_until(5), TimePoint::min());
  first.needed = clock.now() + std::chrono::seconds(1);
  second.needed = clock.now() + std::chrono::seconds(2);
  EXPECT_EQ(chain.needed_until(5), second.needed);
  first.work = {.states = 1, .tasks = 2};
  second.work = {.states = 3, .tasks = 4};
  EXPECT_EQ(chain.work_of(5).states, 4U);
  EXPECT_EQ(chain.work_of(5).tasks, 6U);
  chain.on_child_gone({.number = 5});
  EXPECT_THAT(take_seen(), ElementsAre("second: gone 5", "first: gone 5"));
}

// A filter that overrides a single function.
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

namespace stdgate::call {

// KeptRequest: what a client's account pays for a held request.

namespace {

TEST(KeptRequest, PaysForAllThatItCopies) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{}})";
  const rpc::KnownMessage message(text);
  policy::Principal principal;
  TraceContext trace;
  CallContext context;
  context.principal = &principal;
  context.trace = &trace;
  const auto memory = [&] {
    return KeptRequest({message.envelope(), "m", ClientIntent{}, context}).memory();
  };
  const size_t bare = memory();
  EXPECT_GE(bare, text.size());

  const std::string fields(16'000, 'f');
  context.mirrored = fields;
  EXPECT_EQ(memory(), bare + 16'000);
  trace.state = std::string(500, 's');
  EXPECT_EQ(memory(), bare + 16'500);
  principal.name = std::string(100, 'n');
  principal.subject = std::string(200, 'n');
  EXPECT_EQ(memory(), bare + 16'800);
  principal.scopes = {std::string(1'000, 's')};
  EXPECT_EQ(memory(), bare + 17'800 + sizeof(std::string));
}

}  // namespace

}  // namespace stdgate::call
