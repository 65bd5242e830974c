// Pins and checks together: each list is requested once, and both judge it.
#include "gateway/mcp/listed_filter.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "gateway/mcp/list_requests.h"
#include "tests/unit/mcp/listed_bench.h"

namespace stdgate::test {
namespace {

const std::string kNumber = R"("arguments":{"n":1})";
const std::string kText = R"("arguments":{"n":"x"})";

std::string numbers_tool(const std::string& name, const std::string& description = "good") {
  return R"({"name":")" + name + R"(","description":")" + description +
         R"(","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}})";
}
const std::string kNext = R"(,"nextCursor":"2")";
const std::string kBothGood = list_of(numbers_tool("t") + "," + numbers_tool("u"));

backend::BackendOptions judged(uint32_t calls_each, config::Pins pins = config::Pins::enforce) {
  backend::BackendOptions options = one_call_each(1);
  options.config.pool.max_in_flight = calls_each;
  options.config.pins = pins;
  options.config.check.arguments = true;
  options.config.lock_text = R"({"version":1,"servers":{"fake":{"tools":{"t":{"definition":)" +
                             numbers_tool("t") + R"(},"u":{"definition":)" + numbers_tool("u") +
                             "}}}}}";
  return options;
}

class Judged : public ListedCalls {
 public:
  explicit Judged(const backend::BackendOptions& options = judged(8)) : ListedCalls(options) {}

  void call(const std::string& id, const std::string& arguments, const std::string& name = "t") {
    call_tool(id, R"("name":")" + name + "\"," + arguments);
  }
  // Answers all requests of the child. Returns their methods.
  std::vector<std::string> serve(const std::string& list) {
    std::vector<std::string> methods;
    for (Asked next = next_of(child); !next.method.empty(); next = next_of(child)) {
      methods.push_back(next.method);
      child.answer(next.id, next.method == "tools/list" ? list : kPassed);
      bench.settle();
    }
    return methods;
  }

  FakeChild& child = bench.begin(0, kDiscovery);
};

TEST_F(Judged, AListIsAskedForOnceForBoth) {
  call("1", kNumber);
  EXPECT_THAT(serve(kBothGood), testing::ElementsAre("tools/list", "tools/call"));
  call("2", kText);
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  call("3", kNumber, "v");
  EXPECT_THAT(last(), HasSubstr("Unknown tool: v"));
  EXPECT_THAT(serve(kBothGood), testing::IsEmpty());
  child.say(kToolsChanged);
  call("4", kNumber);
  EXPECT_THAT(serve(list_of(numbers_tool("t", "evil"))), testing::ElementsAre("tools/list"));
  EXPECT_THAT(last(), HasSubstr("Unknown tool: t"));
}

TEST_F(Judged, WhatIsPinnedIsJudgedBeforeTheArguments) {
  call("1", kText);
  EXPECT_THAT(serve(list_of(numbers_tool("t", "evil"))), testing::ElementsAre("tools/list"));
  EXPECT_THAT(last(), HasSubstr("Unknown tool: t"));
}

// A server that refuses to list has no tools for the checks, and its tools are unknown to the pins.
TEST_F(Judged, PinsTakeNoRefusedList) {
  call("1", kNumber);
  for (Asked next = next_of(child); !next.id.empty(); next = next_of(child)) {
    EXPECT_EQ(next.method, "tools/list");
    child.say(R"({"jsonrpc":"2.0","id":)" + next.id +
              R"(,"error":{"code":-32601,"message":"Method not found"}})");
    bench.settle();
  }
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
}

TEST_F(Judged, AListThatNobodyWaitsForHoldsNoShutdown) {
  call("1", kNumber);
  ASSERT_EQ(next_of(child).method, "tools/list");
  EXPECT_GT(bench.backend.calls(), 0U);
  bench.leave(client);
  bench.backend.drain();
  EXPECT_EQ(bench.backend.calls(), 0U);
}

// Readers could see different lists, so the gateway treats the answer as no list.
TEST_F(Judged, NoCallGoesByAListThatIsAmbiguous) {
  const std::string evil = numbers_tool("t", "evil");
  for (const std::string& rest : {R"(,"tools":[)" + evil + "]}", R"(,"Tools":[)" + evil + "]}"}) {
    client.answers.clear();
    call("1", kNumber);
    const Asked list = next_of(child);
    ASSERT_EQ(list.method, "tools/list");
    std::string both = list_of(numbers_tool("t"));
    both.replace(both.size() - 1, 1, rest);
    child.answer(list.id, both);
    bench.settle();
    ASSERT_EQ(client.answers.size(), 1U) << rest;
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
    expect_nothing(child);
    bench.advance(minutes(1));
  }
}

// Values that some reader could show as a list, but that are no array of that name in an object.
TEST_F(Judged, NoCallGoesByAListThatIsNoArray) {
  const std::string tool = numbers_tool("t");
  for (const std::string& list :
       {R"({"tools":{"0":)" + tool + "}}", R"({"tools":)" + list_of(tool) + "}",
        "[" + list_of(tool) + "]", R"({"result":)" + list_of(tool) + "}",
        std::string(R"({"tools":1})"), std::string("{}")}) {
    client.answers.clear();
    call("1", kNumber);
    answer(child, "tools/list", list);
    ASSERT_EQ(client.answers.size(), 1U) << list;
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << list;
    client.answers.clear();
    bench.send_modern(client, request("2", "tools/list"));
    bench.settle();
    answer(child, "tools/list", list);
    ASSERT_EQ(client.answers.size(), 1U) << list;
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << list << last();
    expect_nothing(child);
    bench.advance(minutes(1));
  }
}

// The gateway requests the list again, although the client itself asked for the ambiguous one.
TEST_F(Judged, AListThatIsNoneForAClientIsNoneForItsCalls) {
  call("1", kNumber);
  serve(kBothGood);
  bench.send_modern(client, request("2", "tools/list"));
  answer(child, "tools/list", R"({"tools":{"0":)" + numbers_tool("t") + "}}");
  call("3", kNumber);
  answer(child, "tools/list", list_of(numbers_tool("u")));
  EXPECT_THAT(last(), HasSubstr("Unknown tool: t"));
}

struct CheckedAlone : Judged {
  CheckedAlone() : Judged(judged(8, config::Pins::off)) {}
};

TEST_F(CheckedAlone, AClientIsShownNoListThatIsNoArray) {
  bench.send_modern(client, request("1", "tools/list"));
  answer(child, "tools/list", R"({"tools":{"0":)" + numbers_tool("t") + "}}");
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << last();
}

class JudgedWithWarnings : public Judged {
 public:
  JudgedWithWarnings() : Judged(judged(8, config::Pins::warn)) {}
};

TEST_F(JudgedWithWarnings, PinsHoldNoCallForTheChecks) {
  call("1", kNumber);
  const Asked list = next_of(child);
  ASSERT_EQ(list.method, "tools/list");
  child.say(R"({"jsonrpc":"2.0","id":)" + list.id +
            R"(,"error":{"code":-32601,"message":"Method not found"}})");
  bench.settle();
  EXPECT_THAT(serve(kBothGood), testing::ElementsAre("tools/call"));
  bench.send_modern(client, request("2", "prompts/get", R"("name":"p")"));
  bench.settle();
  EXPECT_THAT(serve(kBothGood), testing::ElementsAre("prompts/get"));
}

// The child never answers the request for its list.
TEST_F(Judged, AListThatDoesNotComeIsGivenUp) {
  call("1", kNumber);
  ASSERT_EQ(next_of(child).method, "tools/list");
  bench.advance(mcp::ListedFilter::kMaxWait);
  bench.settle();
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
  bench.advance(mcp::ListRequests::kMaxAlone);
  bench.settle();
  EXPECT_EQ(bench.backend.calls(), 0U) << "the request for the list has ended too";
  bench.advance(mcp::ListedFilter::kAskAgain);
  call("3", kNumber);
  const auto served = serve(kBothGood);
  EXPECT_THAT(served, testing::Contains("notifications/cancelled"));
  EXPECT_EQ(served.back(), "tools/call");
}

// There is no other child that could be asked.
TEST_F(Judged, AListThatComesLateIsGoodForTheNextCall) {
  call("1", kNumber);
  const Asked list = next_of(child);
  ASSERT_EQ(list.method, "tools/list");
  bench.advance(mcp::ListedFilter::kMaxWait + seconds(1));
  bench.settle();
  EXPECT_EQ(client.answers.size(), 1U);
  child.answer(list.id, kBothGood);
  bench.settle();
  call("2", kNumber);
  answer(child, "tools/call", kPassed);
  EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
}

struct TwoJudged : Judged {
  static backend::BackendOptions options() {
    backend::BackendOptions options = judged(8);
    options.config.pool.min = 2;
    options.config.pool.max = 2;
    return options;
  }
  TwoJudged() : Judged(options()) {}
  FakeChild& other = bench.begin(1, kDiscovery);
};

// A child that hangs is no reason to refuse the calls that other children can take.
TEST_F(TwoJudged, AnotherChildIsAskedThanTheOneThatWasSilent) {
  call("1", kNumber);
  ASSERT_EQ(next_of(child).method, "tools/list");
  bench.advance(mcp::ListedFilter::kMaxWait);
  bench.settle();
  answer(other, "tools/list", kBothGood);
  for (int round = 0; round < 5; ++round) {
    call("2", kNumber);
    answer(other, "tools/call", kPassed);
    EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
    bench.advance(seconds(4));
    other.say(kToolsChanged);
    bench.settle();
    call("3", kNumber);
    answer(other, "tools/list", kBothGood);
    answer(other, "tools/call", kPassed);
    EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
  }
  EXPECT_EQ(client.answers.size(), 11U);
}

TEST_F(TwoJudged, TheSilentChildIsTakenAgainWhenItAnswers) {
  call("1", kNumber);
  ASSERT_EQ(next_of(child).method, "tools/list");
  bench.advance(mcp::ListedFilter::kMaxWait);
  bench.settle();
  answer(other, "tools/list", kBothGood);
  bench.advance(mcp::ListedFilter::kAskAgain);
  other.exit(1);
  bench.settle();
  call("2", kNumber);
  EXPECT_THAT(serve(kBothGood),
              testing::ElementsAre("notifications/cancelled", "tools/list", "tools/call"));
  EXPECT_THAT(last(), HasSubstr(R"("content":[])"));
}

// The gateway requests the list after a change, and again for the next call. The pages of the two
// lists must not be mixed, and a page must not hide what the other list shows.
TEST_F(Judged, PagesOfTwoListsDoNotMix) {
  call("1", kNumber);
  serve(list_of(numbers_tool("t", "evil") + "," + numbers_tool("u")));
  child.say(kToolsChanged);
  bench.settle();
  const Asked one = next_of(child);
  ASSERT_EQ(one.method, "tools/list");
  call("2", kNumber, "u");
  const Asked other = next_of(child);
  ASSERT_EQ(other.method, "tools/list");
  const std::string first = list_of(numbers_tool("t", "evil"), kNext);
  const std::string second = list_of(numbers_tool("u"));
  child.answer(one.id, first);
  bench.settle();
  const Asked rest_of_one = next_of(child);
  child.answer(other.id, first);
  bench.settle();
  const Asked rest_of_other = next_of(child);
  child.answer(rest_of_one.id, second);
  bench.settle();
  child.answer(rest_of_other.id, second);
  bench.settle();
  EXPECT_EQ(next_of(child).method, "tools/call") << "of the other tool";
  call("3", kNumber);
  EXPECT_THAT(last(), HasSubstr("Unknown tool: t"));
  call("4", kText, "u");
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  expect_nothing(child);
}

}  // namespace
}  // namespace stdgate::test
