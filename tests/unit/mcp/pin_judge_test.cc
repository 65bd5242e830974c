// Pins at a server whose tools change: no child gets a call before its own list has been compared
// with the pins.
#include "gateway/mcp/pin_judge.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/mcp/listed_bench.h"

namespace stdgate::test {
namespace {

std::string pinned_tool(const std::string& name, const std::string& description) {
  return R"({"name":")" + name + R"(","description":")" + description +
         R"(","inputSchema":{"type":"object"}})";
}
const std::string kGood =
    R"({"tools":[)" + pinned_tool("t", "good") + "," + pinned_tool("u", "good") + "]}";
const std::string kTurned =
    R"({"tools":[)" + pinned_tool("t", "evil") + "," + pinned_tool("u", "good") + "]}";
const std::string kRefused = "Unknown tool: t";

backend::BackendOptions pinned(backend::BackendOptions options) {
  options.config.pins = config::Pins::enforce;
  options.config.lock_text = R"({"version":1,"servers":{"fake":{"tools":{"t":{"definition":)" +
                             pinned_tool("t", "good") + R"(},"u":{"definition":)" +
                             pinned_tool("u", "good") + "}}}}}";
  return options;
}

// Each child works on one call at a time.
backend::BackendOptions narrow(uint32_t children) { return pinned(one_call_each(children)); }

class Pins : public ListedCalls {
 public:
  explicit Pins(const backend::BackendOptions& options = narrow(2)) : ListedCalls(options) {}

  void call(const std::string& id, const std::string& name = "t") {
    call_tool(id, R"("name":")" + name + "\"");
  }
};

class PinsOfSeveral : public Pins {
 public:
  // The first child has a call in flight, another call waits, and a second child has started.
  void SetUp() override {
    call("1");
    answer(first, "tools/list", kGood);
    in_flight = next_of(first);
    ASSERT_EQ(in_flight.method, "tools/call");
    call("2");
    expect_nothing(first);
    second = &bench.begin(1, kDiscovery);
    bench.settle();
  }

  FakeChild& first = bench.begin(0, kDiscovery);
  FakeChild* second = nullptr;
  Asked in_flight;
};

TEST_F(PinsOfSeveral, AChildThatIsStartedForACallIsComparedFirst) {
  const Asked list = next_of(*second);
  ASSERT_EQ(list.method, "tools/list");
  expect_nothing(*second);
  second->answer(list.id, kTurned);
  bench.settle();
  expect_nothing(*second);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  first.answer(in_flight.id, kPassed);
  bench.settle();
  EXPECT_EQ(client.answers.size(), 2U);
  call("3");
  EXPECT_THAT(last(), HasSubstr(kRefused)) << "one child that has turned it is enough";
  call("4", "u");
  EXPECT_EQ(bench.backend.calls(), 1U) << "the other tool is as it was";
}

TEST_F(PinsOfSeveral, AndGetsTheCallThen) {
  answer(*second, "tools/list", kGood);
  answer(*second, "tools/call", kPassed);
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
}

TEST_F(PinsOfSeveral, OneThatDoesNotSayWhatItOffersGetsNoCall) {
  const Asked list = next_of(*second);
  ASSERT_EQ(list.method, "tools/list");
  second->say(R"({"jsonrpc":"2.0","id":)" + list.id +
              R"(,"error":{"code":-32601,"message":"Method not found"}})");
  bench.settle();
  expect_nothing(*second);
  EXPECT_EQ(client.answers.size(), 0U) << "the first one may still take it";
  first.answer(in_flight.id, kPassed);
  bench.settle();
  EXPECT_EQ(next_of(first).method, "tools/call");
  expect_nothing(*second);
}

TEST_F(PinsOfSeveral, AndFailsTheCallWhenThereIsNoOther) {
  first.exit(1);
  const Asked list = next_of(*second);
  second->say(R"({"jsonrpc":"2.0","id":)" + list.id +
              R"(,"error":{"code":-32601,"message":"Method not found"}})");
  bench.settle();
  expect_nothing(*second);
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::child_failed);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(PinsOfSeveral, ACallThatListsNothingDoesNotWait) {
  answer(*second, "tools/list", kTurned);
  bench.send_modern(client, request("9", "resources/list"));
  bench.settle();
  EXPECT_EQ(next_of(*second).method, "resources/list");
}

backend::BackendOptions without_pins() {
  backend::BackendOptions options = narrow(1);
  options.config.lock_text.clear();
  return options;
}
struct PinsOfNone : Pins {
  PinsOfNone() : Pins(without_pins()) {}
};

TEST_F(PinsOfNone, AListWithoutPinsIsToldOnce) {
  FakeChild& child = bench.begin(0, kDiscovery);
  for (const char* const id : {"1", "2"}) {
    bench.send_modern(client, request(id, "tools/list"));
    bench.settle();
    answer(child, "tools/list", kGood);
    EXPECT_THAT(last(), HasSubstr(R"("tools":[])"));
  }
  EXPECT_EQ(std::ranges::count_if(
                bench.log.lines,
                [](const std::string& line) { return line.find("pinned") != std::string::npos; }),
            1);
  ASSERT_NE(bench.log.find("a server has a list of which nothing is pinned"), nullptr);
}

class PinsOfOne : public Pins {
 public:
  PinsOfOne() : Pins(narrow(1)) {}
  FakeChild& child = bench.begin(0, kDiscovery);
};

TEST_F(PinsOfOne, ACallThatWaitsWhileTheListChangesIsComparedAgain) {
  call("1");
  answer(child, "tools/list", kGood);
  const Asked in_flight = next_of(child);
  call("2");
  call("3", "u");
  child.say(kToolsChanged);
  child.answer(in_flight.id, kPassed);
  bench.settle();
  answer(child, "tools/list", kTurned);
  EXPECT_EQ(client.answers.size(), 2U);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  EXPECT_EQ(next_of(child).method, "tools/call") << "of the other tool";
  expect_nothing(child);
}

TEST_F(PinsOfOne, AListThatChangesWhileItComesIsAskedForAgain) {
  call("1");
  answer(child, "tools/list", kGood);
  const Asked in_flight = next_of(child);
  call("2");
  child.say(kToolsChanged);
  child.answer(in_flight.id, kPassed);
  bench.settle();
  child.say(kToolsChanged);
  answer(child, "tools/list", kGood);
  answer(child, "tools/list", kTurned);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  expect_nothing(child);
}

TEST_F(PinsOfOne, AServerThatChangesWithoutEndGetsNoCall) {
  call("1");
  size_t asked = 0;
  for (Asked next = next_of(child); !next.id.empty() && asked < 100; next = next_of(child)) {
    ASSERT_EQ(next.method, "tools/list");
    ++asked;
    child.say(kToolsChanged);
    child.answer(next.id, kGood);
    bench.settle();
    bench.advance(seconds(1));
  }
  EXPECT_LT(asked, 100U);
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(PinsOfOne, ANameIsUsedAgainWhenTheChildSaysThatItHasTurnedBack) {
  call("1");
  answer(child, "tools/list", kTurned);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  child.say(kToolsChanged);
  bench.settle();
  answer(child, "tools/list", kGood);
  call("2");
  const Asked again = next_of(child);
  if (again.method == "tools/list") child.answer(again.id, kGood);
  bench.settle();
  EXPECT_EQ((again.method == "tools/list" ? next_of(child) : again).method, "tools/call");
}

// A reader that ignores case could read the other list.
TEST_F(PinsOfOne, AListBesideTheListIsAFault) {
  for (const std::string& members :
       {R"("result":)" + kGood + R"(,"Result":)" + kTurned,
        R"("Result":)" + kTurned + R"(,"error":{"code":1,"message":"x"})"}) {
    client.answers.clear();
    bench.send_modern(client, request("1", "tools/list"));
    bench.settle();
    child.say(R"({"jsonrpc":"2.0","id":)" + next_of(child).id + "," + members + "}");
    bench.settle();
    ASSERT_EQ(client.answers.size(), 1U);
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << last();
  }
}

// A list that cannot be cut must not be shown at all.
TEST_F(PinsOfOne, AListThatIsNoArrayIsAFault) {
  const auto evil = [](const std::string& member) {
    const std::string element = R"({"name":"x","uriTemplate":"x","description":"evil"})";
    const std::string array = R"({")" + member + R"(":[)" + element + "]}";
    return std::vector<std::string>{R"({")" + member + R"(":{"0":)" + element + "}}",
                                    R"({")" + member + R"(":)" + array + "}", "[" + array + "]",
                                    R"({"result":)" + array + "}"};
  };
  for (const auto& list : mcp::kPinnedLists) {
    for (const std::string& result : evil(std::string(list.member))) {
      client.answers.clear();
      bench.send_modern(client, request("1", std::string(list.method)));
      bench.settle();
      answer(child, std::string(list.method), result);
      ASSERT_EQ(client.answers.size(), 1U);
      EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << last();
    }
  }
}

// Some readers take such an element for the pinned tool, or the server accepts a call of it.
const std::vector<std::string> kNotShown = {
    R"({"name":"u2","name":"t","description":"evil"})",
    R"({"name":"t","Name":"x","description":"good","inputSchema":{"type":"object"}})",
    R"({"name":"T","description":"good","inputSchema":{"type":"object"}})",
    R"({"name":"t\u0000","description":"good","inputSchema":{"type":"object"}})",
    "[" + pinned_tool("t", "good") + "]",
    R"("t")",
    R"({})",
};
std::string list_beside_u(const std::string& element) {
  return list_of(element + "," + pinned_tool("u", "good"));
}

TEST_F(PinsOfOne, ANameThatTheListDoesNotShowClearlyIsRefused) {
  for (const std::string& element : kNotShown) {
    client.answers.clear();
    child.say(kToolsChanged);
    bench.settle();
    call("1");
    answer(child, "tools/list", list_beside_u(element));
    EXPECT_THAT(last(), HasSubstr(kRefused)) << element;
    call("2", "u");
    answer(child, "tools/call", kPassed);
    child.say(kToolsChanged);
    bench.settle();
    call("3");
    for (Asked next = next_of(child); !next.id.empty(); next = next_of(child)) {
      child.answer(next.id, next.method == "tools/list" ? kGood : kPassed);
      bench.settle();
    }
    EXPECT_EQ(last(), R"({"jsonrpc":"2.0","id":3,"result":)" + kPassed + "}") << element;
  }
}

TEST_F(PinsOfOne, AListWithoutItThatAClientSeesIsAskedForAgain) {
  call("1");
  answer(child, "tools/list", kGood);
  answer(child, "tools/call", kPassed);
  for (const std::string& list : {list_beside_u(kNotShown[0]), list_of(pinned_tool("u", "good")),
                                  R"({"tools":{"0":)" + pinned_tool("t", "evil") + "}}"}) {
    client.answers.clear();
    bench.send_modern(client, request("2", "tools/list"));
    answer(child, "tools/list", list);
    call("3");
    answer(child, "tools/list", list_of(pinned_tool("u", "good")));
    EXPECT_THAT(last(), HasSubstr(kRefused)) << list;
    bench.send_modern(client, request("4", "tools/list"));
    answer(child, "tools/list", kGood);
    call("5");
    answer(child, "tools/list", kGood);
    answer(child, "tools/call", kPassed);
    EXPECT_EQ(client.answers.size(), 4U);
  }
}

TEST_F(PinsOfOne, ANameThatIsMissingIsLookedForOnceInAWhile) {
  call("1");
  answer(child, "tools/list", list_of(pinned_tool("u", "good")));
  call("2");
  expect_nothing(child);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  bench.advance(mcp::ListedFilter::kAskAgain);
  call("3");
  answer(child, "tools/list", list_of(pinned_tool("u", "good")));
  EXPECT_THAT(last(), HasSubstr(kRefused));
  bench.advance(mcp::ListedFilter::kAskAgain);
  call("4");
  answer(child, "tools/list", kGood);
  answer(child, "tools/call", kPassed);
  EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
}

TEST_F(PinsOfOne, ANameOnALaterPageIsNotMissing) {
  call("1");
  answer(child, "tools/list", list_of(pinned_tool("u", "good"), R"(,"nextCursor":"2")"));
  answer(child, "tools/list", list_of(pinned_tool("t", "good")));
  answer(child, "tools/call", kPassed);
  bench.send_modern(client, request("2", "tools/list"));
  answer(child, "tools/list", list_of(pinned_tool("u", "good"), R"(,"nextCursor":"2")"));
  call("3");
  answer(child, "tools/call", kPassed);
}

// A child that does not list the name counts as another server.
TEST_F(PinsOfSeveral, AChildThatDoesNotListTheNameGetsNoCall) {
  answer(*second, "tools/list", list_of(pinned_tool("u", "good")));
  expect_nothing(*second);
  EXPECT_TRUE(client.answers.empty()) << "the first one will take it";
  first.answer(in_flight.id, kPassed);
  bench.settle();
  answer(first, "tools/call", kPassed);
  EXPECT_EQ(client.answers.size(), 2U);
  call("3", "u");
  call("4", "u");
  answer(*second, "tools/call", kPassed);
  first.exit(1);
  bench.settle();
  call("5");
  if (const Asked list = next_of(*second); list.method == "tools/list") {
    second->answer(list.id, list_of(pinned_tool("u", "good")));
    bench.settle();
  }
  EXPECT_THAT(last(), HasSubstr(kRefused));
  expect_nothing(*second);
}

TEST_F(PinsOfSeveral, ACallThatWaitsForANameThatHasGoneIsRefused) {
  answer(*second, "tools/list", list_of(pinned_tool("u", "good")));
  first.exit(1);
  bench.settle();
  EXPECT_THAT(last(), HasSubstr(kRefused));
  EXPECT_EQ(client.answers.size(), 2U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(PinsOfOne, NoNotificationCallsATool) {
  call("1");
  answer(child, "tools/list", kGood);
  answer(child, "tools/call", kPassed);
  bench.send_modern(client, R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}})");
  bench.settle();
  expect_nothing(child);
}

TEST_F(PinsOfOne, ARefusedListIsNoList) {
  call("1");
  const Asked list = next_of(child);
  child.say(R"({"jsonrpc":"2.0","id":)" + list.id +
            R"(,"error":{"code":-32602,"message":"not initialized"}})");
  bench.settle();
  for (Asked next = next_of(child); !next.id.empty(); next = next_of(child)) {
    EXPECT_EQ(next.method, "tools/list");
    child.say(R"({"jsonrpc":"2.0","id":)" + next.id +
              R"(,"error":{"code":-32602,"message":"not initialized"}})");
    bench.settle();
  }
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
}

// A modern client's call gets a legacy child of its own, because the child may answer with a
// question.
class PinsOfCallsAlone : public Pins {
 public:
  PinsOfCallsAlone() : Pins(pinned(trip_options(config::Isolation::shared))) {}

  // Greets the child that was started last.
  void greet() {
    bench.greet(greeted++);
    bench.settle();
  }
  void ask(const std::string& id) {
    bench.call(client, id);
    bench.settle();
  }
  size_t greeted = 0;
};

TEST_F(PinsOfCallsAlone, EachOfTheirChildrenIsCompared) {
  ask("1");
  while (greeted < bench.launcher.launched() && greeted < 4) {
    greet();
    FakeChild& child = bench.child(greeted - 1);
    for (Asked next = next_of(child); !next.id.empty(); next = next_of(child)) {
      ASSERT_EQ(next.method, "tools/list") << "child " << greeted;
      // Only the first child has the pinned tool; the tools of the others have changed.
      child.answer(next.id, greeted == 1 ? kGood : kTurned);
      bench.settle();
    }
  }
  EXPECT_GE(greeted, 2U);
  EXPECT_THAT(last(), HasSubstr(kRefused));
  EXPECT_EQ(bench.backend.calls(), 0U);
}

// A session whose child is replaced, while the client notices nothing.
class PinsOfSession : public testing::Test {
 public:
  static backend::BackendOptions options() {
    auto options = ModernBench::options_of(config::Revision::legacy, config::Isolation::session);
    options.config.revive = true;
    options.config.cache = false;
    return pinned(options);
  }

  // Starts all children, and lets them answer all requests. Calls are answered with kPassed.
  void serve(const std::string& list) {
    for (size_t index = 0; index < bench.launcher.launched(); ++index) {
      FakeChild& child = bench.child(index);
      if (index >= running) child.start();
      running = std::max(running, index + 1);
      for (Asked next = next_of(child); !next.method.empty(); next = next_of(child)) {
        methods.push_back(next.method);
        if (next.method == "tools/list") last = index;
        if (next.id.empty()) continue;
        child.answer(next.id, next.method == "initialize"   ? std::string(kGreeting)
                              : next.method == "tools/list" ? list
                                                            : kPassed);
        bench.settle();
      }
    }
  }
  std::string send(const std::string& method, const std::string& params, const std::string& list) {
    client.request(method, params);
    serve(list);
    bench.advance(seconds(1));
    serve(list);
    const auto texts = client.take();
    return texts.empty() ? "" : texts.back();
  }

  TripBench bench{options()};
  SharedClient client{bench};
  std::vector<std::string> methods;  // of all requests to children
  size_t running = 0;
  size_t last = 0;  // the child that listed its tools last
};

TEST_F(PinsOfSession, ARevivedSessionSeesAndCallsNothingThatHasTurned) {
  send("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{}})", kGood);
  client.send(note("initialized", "{}"));
  EXPECT_THAT(send("tools/list", "{}", kGood), HasSubstr(R"("name":"t")"));
  EXPECT_THAT(send("tools/call", R"({"name":"t"})", kGood), HasSubstr(R"("content":[])"));
  const std::string turned = R"({"tools":[)" + pinned_tool("t", "evil") + "," +
                             pinned_tool("u", "good") + "," + pinned_tool("v", "new") + "]}";
  for (const char* first : {"tools/call", "tools/list"}) {
    bench.child(last).exit(1);
    bench.advance(seconds(2));
    methods.clear();
    if (first == std::string("tools/list")) {
      const std::string list = send("tools/list", "{}", turned);
      EXPECT_THAT(list, HasSubstr(R"("name":"u")"));
      EXPECT_THAT(list, Not(HasSubstr(R"("name":"t")")));
      EXPECT_THAT(list, Not(HasSubstr(R"("name":"v")")));
    }
    EXPECT_THAT(send("tools/call", R"({"name":"t"})", turned), HasSubstr(kRefused));
    EXPECT_THAT(send("tools/call", R"({"name":"v"})", turned), HasSubstr("Unknown tool: v"));
    EXPECT_THAT(methods, testing::Contains("initialize")) << "it is another child";
    EXPECT_THAT(methods, Not(testing::Contains("tools/call")));
    EXPECT_THAT(send("tools/call", R"({"name":"u"})", turned), HasSubstr(R"("content":[])"));
  }
}

}  // namespace
}  // namespace stdgate::test
