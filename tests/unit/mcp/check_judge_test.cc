// Checks with children that list different schemas. The tests check which child gets a call, which
// list the call and its result are compared with, and when the list is requested again.
#include "gateway/mcp/check_judge.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "tests/unit/mcp/listed_bench.h"

namespace stdgate::test {
namespace {

const std::string kNumbers = R"({"n":1})";
const std::string kTexts = R"({"s":"x"})";
const std::string kNeither = R"({"x":1})";
const std::string kBoth = R"({"n":1,"s":"x"})";

// A tool whose input and output are objects with this member, of this type.
std::string typed_tool(const std::string& name, const std::string& member, const std::string& type,
                       const std::string& output = "") {
  const auto schema = [&](const std::string& of, const std::string& is) {
    return R"({"type":"object","properties":{")" + of + R"(":{"type":")" + is +
           R"("}},"required":[")" + of + "\"]}";
  };
  return R"({"name":")" + name + R"(","inputSchema":)" + schema(member, type) +
         R"(,"outputSchema":)" + schema(output.empty() ? member : output, type) + "}";
}
const std::string kOfNumbers = list_of(typed_tool("t", "n", "integer"));
const std::string kOfTexts = list_of(typed_tool("t", "s", "string"));

std::string result_of(const std::string& structured) {
  return R"({"content":[],"structuredContent":)" + structured + "}";
}

backend::BackendOptions checked(backend::BackendOptions options) {
  options.config.check.arguments = true;
  options.config.check.results = true;
  options.config.cache = false;
  return options;
}

// Each child works on one call at a time.
backend::BackendOptions checked_children(uint32_t children) {
  return checked(one_call_each(children));
}

class Checks : public ListedCalls {
 public:
  explicit Checks(const backend::BackendOptions& options) : ListedCalls(options) {}

  void call(const std::string& id, const std::string& arguments, const std::string& name = "t") {
    call_tool(id, R"("name":")" + name + R"(","arguments":)" + arguments);
  }
};

// The first child has a call in flight, another call waits, and a second child has started.
class ChecksOfTwo : public Checks {
 public:
  ChecksOfTwo() : Checks(checked_children(2)) {}

  void SetUp() override {
    call("1", kNumbers);
    answer(first, "tools/list", kOfNumbers);
    in_flight = next_of(first);
    ASSERT_EQ(in_flight.method, "tools/call");
    call("2", kNumbers);
    expect_nothing(first);
    second = &bench.begin(1, kDiscovery);
    bench.settle();
  }
  void answer_first() {
    first.answer(in_flight.id, result_of(kNumbers));
    bench.settle();
  }
  // Makes both children idle, with different schemas in their lists.
  void differ(const std::string& other = kOfTexts) {
    answer(*second, "tools/list", other);
    answer_first();
    answer(first, "tools/call", result_of(kNumbers));
    ASSERT_EQ(client.answers.size(), 2U);
  }

  FakeChild& first = bench.begin(0, kDiscovery);
  FakeChild* second = nullptr;
  Asked in_flight;
};

TEST_F(ChecksOfTwo, AKeyThatIsThereTwiceHasItsPlace) {
  answer_first();
  call("3", R"({"n":1,"m":[{"k":1},{"k":1,"k":2}]})");
  EXPECT_THAT(last(), HasSubstr("Invalid arguments. /m/1/k: expected once, and is there twice"));
}

TEST_F(ChecksOfTwo, AChildGetsNoCallThatItsOwnListForbids) {
  answer(*second, "tools/list", kOfTexts);
  expect_nothing(*second);
  EXPECT_TRUE(client.answers.empty()) << "the first one will take it";
  answer_first();
  answer(first, "tools/call", result_of(kNumbers));
  EXPECT_EQ(client.answers.size(), 2U);
  EXPECT_THAT(last(), HasSubstr(R"("n":1)"));
}

TEST_F(ChecksOfTwo, OneWithTheSameListGetsIt) {
  answer(*second, "tools/list", kOfNumbers);
  answer(*second, "tools/call", result_of(kNumbers));
  EXPECT_EQ(client.answers.size(), 1U);
}

TEST_F(ChecksOfTwo, ACallGoesToTheChildWhoseListItFits) {
  differ();
  call("3", kTexts);
  expect_nothing(first);
  answer(*second, "tools/call", result_of(kTexts));
  EXPECT_THAT(last(), HasSubstr(R"("s":"x")"));
  call("4", kNumbers);
  expect_nothing(*second);
  answer(first, "tools/call", result_of(kNumbers));
  call("5", kNeither);
  EXPECT_THAT(last(), HasSubstr("Invalid arguments. arguments: expected a member"));
  expect_nothing(first);
  expect_nothing(*second);
}

TEST_F(ChecksOfTwo, ACallThatWaitsForItsChildHoldsUpNoOther) {
  differ();
  call("3", kNumbers);
  const Asked at_first = next_of(first);
  ASSERT_EQ(at_first.method, "tools/call");
  call("4", kNumbers);
  expect_nothing(*second);
  call("5", kTexts);
  const Asked at_second = next_of(*second);
  ASSERT_EQ(at_second.method, "tools/call") << "beside the one that waits for the first";
  call("6", kTexts);
  second->answer(at_second.id, result_of(kTexts));
  bench.settle();
  answer(*second, "tools/call", result_of(kTexts));
  EXPECT_EQ(client.answers.size(), 4U) << "the last one has passed the one before it";
  first.answer(at_first.id, result_of(kNumbers));
  bench.settle();
  answer(first, "tools/call", result_of(kNumbers));
  EXPECT_EQ(client.answers.size(), 6U);
}

TEST_F(ChecksOfTwo, AResultIsHeldAgainstTheListOfItsChild) {
  differ();
  call("3", kBoth);
  answer(first, "tools/call", result_of(kTexts));
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::child_failed);
  call("4", kTexts);
  answer(*second, "tools/call", result_of(kTexts));
  EXPECT_THAT(last(), HasSubstr(R"("s":"x")"));
}

TEST_F(ChecksOfTwo, OneThatDoesNotListTheToolIsNoWayAround) {
  differ(list_of(typed_tool("u", "n", "integer")));
  call("3", kTexts);
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  expect_nothing(first);
  expect_nothing(*second);
}

TEST_F(ChecksOfTwo, AChildThatHasGoneIsForgotten) {
  differ();
  bench.advance(seconds(1));
  first.exit(1);
  bench.settle();
  call("3", kNumbers);
  if (const Asked list = next_of(*second); !list.id.empty()) second->answer(list.id, kOfTexts);
  bench.settle();
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  expect_nothing(*second);
}

TEST_F(ChecksOfTwo, ACallThatNoChildMayGetAnyMoreEnds) {
  first.exit(1);
  bench.settle();
  answer(*second, "tools/list", kOfTexts);
  expect_nothing(*second);
  ASSERT_EQ(client.answers.size(), 2U);
  for (const auto& answer : client.answers) EXPECT_EQ(answer.fault, rpc::Fault::child_failed);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(ChecksOfTwo, AChildThatHasChangedIsAskedAgainBeforeACall) {
  answer(*second, "tools/list", kOfNumbers);
  const Asked at_second = next_of(*second);
  ASSERT_EQ(at_second.method, "tools/call");
  call("3", kNumbers);
  second->say(kToolsChanged);
  second->answer(at_second.id, result_of(kNumbers));
  bench.settle();
  answer(*second, "tools/list", kOfTexts);
  expect_nothing(*second);
  answer_first();
  answer(first, "tools/call", result_of(kNumbers));
  EXPECT_EQ(client.answers.size(), 3U);
}

// Both children get calls of the same tool repeatedly, until one child's list changes.
TEST_F(ChecksOfTwo, AChildThatHadSuchCallsGetsNoMoreWhenItsListHasChanged) {
  answer(*second, "tools/list", kOfNumbers);
  answer(*second, "tools/call", result_of(kNumbers));
  answer_first();
  for (int round = 0; round < 3; ++round) {
    call("3", kNumbers);
    call("4", kNumbers);
    answer(first, "tools/call", result_of(kNumbers));
    answer(*second, "tools/call", result_of(kNumbers));
  }
  second->say(kToolsChanged);
  call("5", kNumbers);
  call("6", kNumbers);
  for (int turn = 0; turn < 10; ++turn) {
    if (const Asked list = next_of(*second); !list.method.empty()) {
      ASSERT_EQ(list.method, "tools/list") << "its list takes no numbers";
      second->answer(list.id, kOfTexts);
    }
    if (const Asked asked = next_of(first); !asked.method.empty()) {
      first.answer(asked.id, asked.method == "tools/list" ? kOfNumbers : result_of(kNumbers));
    }
    bench.settle();
  }
  EXPECT_EQ(client.answers.size(), 10U);
  call("7", kTexts);
  answer(*second, "tools/call", result_of(kTexts));
}

class ChecksOfOne : public Checks {
 public:
  ChecksOfOne() : Checks(checked_children(1)) {}
  FakeChild& child = bench.begin(0, kDiscovery);
};

TEST_F(ChecksOfOne, AToolThatIsNotListedIsLookedForOnceInAWhile) {
  call("1", kNumbers, "new");
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  call("2", kNumbers, "new");
  answer(child, "tools/call", result_of(kNumbers));
  bench.advance(mcp::ListedFilter::kAskAgain);
  call("3", kNumbers, "new");
  answer(child, "tools/list", list_of(typed_tool("new", "s", "string")));
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  expect_nothing(child);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(ChecksOfOne, AChangeThatAClientSeesIsLookedAt) {
  call("1", kNumbers);
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  bench.send_modern(client, request("2", "tools/list"));
  answer(child, "tools/list", list_of(typed_tool("t", "s", "string"), R"(,"nextCursor":"x")"));
  call("3", kNumbers);
  answer(child, "tools/list", kOfTexts);
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  expect_nothing(child);
}

TEST_F(ChecksOfOne, WhatIsKeptOfListsIsInTheAccountOfTheBackend) {
  const auto held = [this] {
    return bench.accounts.held_at(0).of[static_cast<size_t>(Holding::caches)];
  };
  call("1", kNumbers);
  EXPECT_EQ(held(), 0U);
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  const size_t of_list = held();
  EXPECT_GT(of_list, 2 * kOfNumbers.size()) << "texts, and two compiled schemas";
  bench.backend.drop_caches();
  EXPECT_LT(held(), of_list);
  call("2", kNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  EXPECT_EQ(held(), of_list);
  child.output(kToolsChanged + "\n");
  call("3", kNumbers);
  answer(child, "tools/list", list_of(""));
  EXPECT_LT(held(), of_list / 4);
  child.exit(1);
  bench.settle();
  EXPECT_EQ(held(), 0U);
}

// All these tools share one place for the schema that was found last.
TEST_F(ChecksOfOne, ToolsThatAreCalledInTurnKeepTheirSchemas) {
  call("1", kNumbers);
  answer(child, "tools/list",
         list_of(typed_tool("t", "n", "integer") + "," + typed_tool("d", "s", "string")));
  answer(child, "tools/call", result_of(kNumbers));
  for (int round = 0; round < 3; ++round) {
    call("2", kTexts, "d");
    answer(child, "tools/call", result_of(kTexts));
    call("3", kNumbers, "d");
    EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
    expect_nothing(child);
    call("4", kNumbers);
    answer(child, "tools/call", result_of(kNumbers));
  }
}

// Earlier calls must not help a client to get past a check.
TEST_F(ChecksOfOne, AToolWhoseSchemaCannotBeCompiledYetGetsNoCall) {
  std::string tools;
  for (int tool = 0; tool < 40; ++tool) {
    std::string parts;
    for (int i = 0; i < 5; ++i) {
      parts += R"({"pattern":"^[a-z]{1,900})" + std::to_string(tool) + "$\"},";
    }
    tools += R"({"name":"c)" + std::to_string(tool) + R"(","inputSchema":{"allOf":[)" + parts +
             R"({"required":["n"]}]}},)";
  }
  call("0", kNumbers);
  answer(child, "tools/list", list_of(tools + typed_tool("t", "n", "integer")));
  answer(child, "tools/call", result_of(kNumbers));
  int called = 0;
  for (; called < 40; ++called) {
    call("1", kNumbers, "c" + std::to_string(called));
    if (last().find("to be compiled now") != std::string::npos) break;
    answer(child, "tools/call", result_of(kNumbers));
  }
  EXPECT_GT(called, 5);
  EXPECT_LT(called, 20);
  expect_nothing(child);
  call("2", kTexts, "c" + std::to_string(called));
  EXPECT_THAT(last(), HasSubstr("to be compiled now"));
  call("3", kTexts);
  EXPECT_THAT(last(), HasSubstr("Invalid arguments")) << "its schema is compiled";
  bench.advance(seconds(2));
  call("4", kTexts, "c" + std::to_string(called));
  EXPECT_THAT(last(), HasSubstr("Invalid arguments"));
  call("5", kNumbers, "c" + std::to_string(called));
  answer(child, "tools/call", result_of(kNumbers));
}

// The escapes make one name sixteen characters longer, so that both names share one place for the
// schema that was found last.
TEST_F(ChecksOfOne, ANameThatIsSpelledAsAnotherOneReadsIsNotTakenForIt) {
  std::string one;
  std::string other;
  for (int part = 0; part < 16; ++part) one.append(R"(\\n)"), other.append(R"(\n)");
  call("1", kNumbers, one);
  answer(child, "tools/list", list_of(typed_tool(one, "n", "integer")));
  answer(child, "tools/call", result_of(kNumbers));
  call("2", kNumbers, one);
  answer(child, "tools/call", result_of(kNumbers));
  call("3", kNumbers, other);
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::invalid_request) << "it ends lines";
  expect_nothing(child);
}

// Some readers end a text at a zero byte, and some read params by position.
TEST_F(ChecksOfOne, ANameThatCouldBeReadAsAnotherOneIsRefused) {
  call("1", kNumbers);
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  for (const char* const name : {R"(t\u0000)", R"(t\u0000x)", R"(t\n)", ""}) {
    call("2", kTexts, name);
    expect_nothing(child);
    EXPECT_EQ(client.answers.back().fault, rpc::Fault::invalid_request) << name;
  }
}

// A reader that ignores case could read a value that has not been checked.
TEST_F(ChecksOfOne, AResultThatReadersCouldSeeDifferentlyIsAFault) {
  call("1", kNumbers);
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  const std::string good = R"("structuredContent":{"n":1})";
  const std::string bad = R"("StructuredContent":{"n":"x"})";
  for (const std::string& members :
       {good + "," + bad, bad + "," + good, bad, good + R"(,"struct\u0075redcontent":{})",
        good + "," + good, good + R"(,"STRUCTUREDCONTENT":null)",
        R"("isError":true,"IsError":false,)" + bad,
        std::string(R"("isError":true,"iserror":false,"structuredContent":{"n":"x"})"),
        std::string(R"("resultType":"input_required","RESULTTYPE":"complete",)") + bad,
        std::string(R"("task":{},"Task":null,)") + bad,
        std::string(R"("structuredContent":{"n":1,"n":2})"),
        std::string(R"("task":{},"structuredContent":{"n":"x"})"),
        std::string(R"("resultType":"input_required","structuredContent":{"n":"x"})")}) {
    client.answers.clear();
    call("2", kNumbers);
    answer(child, "tools/call", R"({"content":[],)" + members + "}");
    ASSERT_EQ(client.answers.size(), 1U) << members;
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << members;
  }
  for (const char* const second : {"result", "error"}) {
    client.answers.clear();
    call("3", kNumbers);
    const Asked asked = next_of(child);
    child.say(R"({"jsonrpc":"2.0","id":)" + asked.id +
              R"(,"Result":{"structuredContent":{"n":"x"}},")" + second +
              R"(":{"code":1,"message":"x","structuredContent":{"n":1}}})");
    bench.settle();
    ASSERT_EQ(client.answers.size(), 1U);
    EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed) << last();
  }
  client.answers.clear();
  call("4", kNumbers);
  answer(child, "tools/call", R"({"content":[],"structuredContents":0,)" + good + "}");
  EXPECT_THAT(last(), HasSubstr(good)) << "this key resembles no other";
}

// A server that ignores case could use a value that has not been checked.
TEST_F(ChecksOfOne, AKeyThatResemblesADeclaredOneIsRefused) {
  const std::string path = R"({"type":"object","properties":{"path":{"type":"string"}}})";
  const std::string schemas[] = {
      path, R"({"allOf":[)" + path + "]}", R"({"$ref":"#/$defs/a","$defs":{"a":)" + path + "}}",
      R"({"type":"object","properties":{"path":{"type":"string"},"free":{"type":"object"}},)"
      R"("patternProperties":{"^x-":{}}})"};
  for (const std::string& schema : schemas) {
    child.say(kToolsChanged);
    bench.settle();
    call("1", R"({"path":"x"})");
    answer(child, "tools/list", list_of(R"({"name":"t","inputSchema":)" + schema + "}"));
    answer(child, "tools/call", kPassed);
    for (const char* const arguments :
         {R"({"path":"x","PATH":666})", R"({"PATH":666})", R"({"Path":666,"path":"x"})",
          R"({"path":"x","\u0050ath":666})", R"({"path":"x","other":1,"pAth":1})"}) {
      for (int round = 0; round < 2; ++round) {
        call("2", arguments);
        EXPECT_THAT(last(), HasSubstr("Invalid arguments. arguments: expected no member"))
            << schema << arguments;
        EXPECT_THAT(last(), HasSubstr(R"(which resembles \"path\")"));
        expect_nothing(child);
      }
    }
    for (const char* const arguments :
         {R"({"path":"x","paths":666})", R"({"p\u0061th":"x","other":{"PATH":1}})", "{}",
          R"({"path":"x","free":{"path":1,"PATH":2}})", R"({"other":1,"OTHER":2})"}) {
      call("3", arguments);
      answer(child, "tools/call", kPassed);
    }
  }
}

TEST_F(ChecksOfOne, AKeyThatIsDeclaredItselfMayResembleAnother) {
  call("1", "{}");
  answer(child, "tools/list",
         list_of(R"({"name":"t","inputSchema":{"type":"object","properties":{"a":{},"A":{}},)"
                 R"("patternProperties":{"^x":{}}}},{"name":"u","inputSchema":{"anyOf":[)"
                 R"({"properties":{"a":{}}},{"properties":{"A":{}}}]}})"));
  answer(child, "tools/call", kPassed);
  for (const char* const name : {"t", "u"}) {
    call("2", R"({"a":1,"A":2})", name);
    answer(child, "tools/call", kPassed);
  }
  call("3", R"({"a":1,"xA":2,"Xa":3,"xa":4})");
  answer(child, "tools/call", kPassed);
}

TEST_F(ChecksOfOne, NoNotificationCallsATool) {
  call("1", kNumbers);
  answer(child, "tools/list", kOfNumbers);
  answer(child, "tools/call", result_of(kNumbers));
  bench.send_modern(client, R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"t",)"
                            R"("arguments":{"n":1}}})");
  bench.settle();
  expect_nothing(child);
}

TEST_F(ChecksOfOne, AServerThatChangesWithoutEndGetsNoCall) {
  call("1", kNumbers);
  size_t asked = 0;
  for (Asked next = next_of(child); !next.id.empty() && asked < 100; next = next_of(child)) {
    ASSERT_EQ(next.method, "tools/list");
    ++asked;
    child.say(kToolsChanged);
    child.answer(next.id, kOfNumbers);
    bench.settle();
    bench.advance(seconds(1));
  }
  EXPECT_LT(asked, 100U);
  EXPECT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

class ChecksOfSeveral : public Checks {
 public:
  static backend::BackendOptions options() {
    auto options = checked_children(1);
    options.config.pool.max_in_flight = 8;
    return options;
  }
  ChecksOfSeveral() : Checks(options()) {}
  FakeChild& child = bench.begin(0, kDiscovery);
};

// The result of a call in flight is checked against the child's list at that time.
TEST_F(ChecksOfSeveral, ResultsAreCheckedFromTheFirstOutputSchemaOn) {
  const std::string schema = R"({"type":"object","properties":{"n":{"type":"integer"}}})";
  const std::string input = R"({"name":"t","inputSchema":)" + schema;
  call("1", kNumbers);
  answer(child, "tools/list", list_of(input + "}"));
  for (int round = 0; round < 3; ++round) {
    answer(child, "tools/call", result_of(R"({"n":"x"})"));
    EXPECT_THAT(last(), HasSubstr(R"("n":"x")")) << "nothing is said of it";
    call("2", kNumbers);
  }
  const Asked in_flight = next_of(child);
  bench.send_modern(client, request("3", "tools/list"));
  answer(child, "tools/list", list_of(input + R"(,"outputSchema":)" + schema + "}"));
  child.answer(in_flight.id, result_of(R"({"n":"x"})"));
  bench.settle();
  EXPECT_EQ(client.answers.back().fault, rpc::Fault::child_failed);
}

class ChecksOfSessions : public testing::Test {
 public:
  static backend::BackendOptions options() {
    auto options = ModernBench::options_of(config::Revision::legacy, config::Isolation::session);
    options.config.pool.max = 4;
    options.config.revive = true;
    return checked(options);
  }
  // Sends a request and returns the answer. A child that serves this session first lists the tools
  // of this session.
  std::string send(SharedClient& client, const std::string& method, const std::string& params) {
    client.request(method, params);
    while (serve(&client == &numbers)) {
    }
    const auto given = client.take();

    return given.empty() ? "" : given.back();
  }
  // Lets the children answer. Returns whether a child had anything to do.
  bool serve(bool for_numbers) {
    bool is_busy = false;
    for (size_t index = 0; index < bench.launcher.launched(); ++index) {
      FakeChild& child = bench.child(index);
      if (index >= running) child.start();
      running = std::max(running, index + 1);
      for (Asked next = next_of(child); !next.method.empty(); next = next_of(child)) {
        is_busy = true;
        if (!next.id.empty()) child.answer(next.id, reply_of(index, next.method, for_numbers));
        bench.settle();
      }
    }
    return is_busy;
  }
  // Ends the children that were asked to end.
  void end_asked() {
    for (size_t index = 0; index < bench.launcher.launched(); ++index) {
      FakeChild& child = bench.child(index);
      if (child.running() && !child.ends().empty()) child.exit(0);
    }
    bench.advance(std::chrono::seconds(1));
  }
  std::string reply_of(size_t index, const std::string& method, bool for_numbers) {
    if (method == "initialize") return std::string(kGreeting);
    const bool takes_numbers = kinds.try_emplace(index, for_numbers).first->second;
    if (method == "tools/list") return takes_numbers ? kOfNumbers : kOfTexts;
    EXPECT_EQ(takes_numbers, for_numbers) << "a call of the other session";
    return result_of(takes_numbers ? kNumbers : kTexts);
  }

  ModernBench bench{options()};
  SharedClient numbers{bench};
  std::deque<SharedClient> others;
  size_t running = 0;
  std::map<size_t, bool> kinds;  // by child: whether it takes numbers
};

TEST_F(ChecksOfSessions, HaveTheListsOfTheirOwnChildren) {
  // With 16 sessions between them, both sessions share one place for the schema that was found
  // last.
  while (others.size() < 16) others.emplace_back(bench);
  SharedClient& texts = others.back();
  for (SharedClient* const client : {&numbers, &texts}) {
    send(*client, "initialize", R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  }
  const std::string number = R"({"name":"t","arguments":)" + kNumbers + "}";
  const std::string text = R"({"name":"t","arguments":)" + kTexts + "}";
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(send(numbers, "tools/call", number), HasSubstr(R"("n":1)"));
    EXPECT_THAT(send(texts, "tools/call", number), HasSubstr("Invalid arguments"));
    EXPECT_THAT(send(texts, "tools/call", text), HasSubstr(R"("s":"x")"));
    EXPECT_THAT(send(numbers, "tools/call", text), HasSubstr("Invalid arguments"));
  }
}

TEST_F(ChecksOfSessions, ASessionThatWasParkedIsJudgedByTheListOfItsNextChild) {
  const std::string number = R"({"name":"t","arguments":)" + kNumbers + "}";
  send(numbers, "initialize", R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(send(numbers, "tools/call", number), HasSubstr(R"("n":1)")) << round;
    ASSERT_EQ(bench.backend.park_session(numbers.session().id), session::Parking::parked);
    end_asked();
  }
  EXPECT_THAT(send(numbers, "tools/call", R"({"name":"t","arguments":)" + kTexts + "}"),
              HasSubstr("Invalid arguments"));
}

TEST(ChecksOfSharedSessions, ShareTheListOfTheirChild) {
  ModernBench bench(
      checked(ModernBench::options_of(config::Revision::modern, config::Isolation::shared)));
  FakeChild& child = bench.begin(0, kDiscovery);
  SharedClient one(bench);
  one.request("tools/call", R"({"name":"t","arguments":{"n":1}})");
  Asked asked = next_of(child);
  ASSERT_EQ(asked.method, "tools/list");
  child.answer(asked.id, kOfNumbers);
  asked = next_of(child);
  ASSERT_EQ(asked.method, "tools/call");
  child.answer(asked.id, result_of(kNumbers));
  EXPECT_THAT(one.take().at(0), HasSubstr(R"("n":1)"));
  SharedClient two(bench);
  two.request("tools/call", R"({"name":"t","arguments":{"s":"x"}})");
  EXPECT_THAT(two.take().at(0), HasSubstr("Invalid arguments"));
  EXPECT_EQ(child.take_line(), "");
}

}  // namespace
}  // namespace stdgate::test
