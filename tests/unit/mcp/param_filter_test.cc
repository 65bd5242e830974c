// Calls of tools whose arguments are repeated beside the message. The tests check when the gateway
// requests the list of tools, which calls wait for it, and which are refused.
#include "gateway/mcp/param_filter.h"

#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {
namespace {

using mcp::ParamFilter;

const std::string kPass = R"({"content":[]})";

std::string tool(const std::string& name, const std::string& field = "") {
  const std::string mark = field.empty() ? "" : R"(,"x-mcp-header":")" + field + '"';
  return R"({"name":")" + name +
         R"(","inputSchema":{"type":"object","properties":{"r":{"type":"string")" + mark + "}}}}";
}

std::string page(const std::string& tools, const std::string& more = "") {
  return R"({"tools":[)" + tools + "]" + more + "}";
}

class CallsWithParams : public testing::Test {
 public:
  explicit CallsWithParams(config::Revision revision = config::Revision::modern)
      : bench(revision, config::Isolation::shared) {}

  void call(FakeClient& from, const std::string& name, std::string_view fields,
            const std::string& id = "1") {
    bench.send_modern(
        from, request(id, "tools/call", R"("name":")" + name + R"(","arguments":{"r":"a"})"),
        ModernBench::Beside{.mirrored = fields});
  }
  void call(const std::string& name, std::string_view fields) { call(client, name, fields); }
  // Checks that the child's next request is `method`, and answers it.
  void answer(const std::string& method, const std::string& result) {
    const Asked asked = parse_asked(child.take_line());
    ASSERT_EQ(asked.method, method);
    child.answer(asked.id, result);
  }
  void expect_nothing_asked() { EXPECT_EQ(child.take_line(), ""); }
  // The error code of the new answer; "ok" for a result, "none" if there is no new answer.
  std::string take() {
    const Texts texts = client.texts();
    if (texts.size() <= seen_) return "none";
    seen_ = texts.size();
    const std::string& text = texts.back();
    if (text.find("\"error\"") == std::string::npos) return "ok";
    return text.substr(text.find("\"code\":") + 7, 6);
  }

  ModernBench bench;
  FakeChild& child = bench.begin(0, kDiscovery);
  FakeClient client{bench.callers};

 private:
  size_t seen_ = 0;
};

TEST_F(CallsWithParams, TheFirstOneWaitsForTheList) {
  call("t", "R:b\n");
  EXPECT_EQ(bench.backend.calls(), 1U) << "the gateway's own call is none of a client";
  answer("tools/list", page(tool("t", "R")));
  EXPECT_EQ(take(), "-32020");
  expect_nothing_asked();
  for (const auto& [fields, code] : {std::pair("", "-32020"), std::pair("R:b\n", "-32020")}) {
    call("t", fields);
    EXPECT_EQ(take(), code) << fields;
  }
  call("t", "R:a\n");
  answer("tools/call", kPass);
  EXPECT_EQ(take(), "ok");
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(CallsWithParams, TheListDoesNotKeepLogMessagesFromTheOnlyCall) {
  FakeClient other(bench.callers);
  bench.send_modern(other, request("1", "prompts/get", R"("name":"p")",
                                   meta("{}", R"(,"io.modelcontextprotocol/logLevel":"info")")));
  EXPECT_FALSE(child.take_line().empty());
  call("t", "R:a\n");
  EXPECT_EQ(next_of(child).method, "tools/list");
  const std::string text = note("message", R"({"level":"info","data":1})");
  child.say(text);
  EXPECT_EQ(events_of(other), Texts{text});
}

TEST_F(CallsWithParams, WhatNobodyMarksPasses) {
  call("other", "R:b\n");
  answer("tools/list", page(tool("t", "R") + "," + tool("plain")));
  answer("tools/call", kPass);
  EXPECT_EQ(take(), "ok");
  for (const char* const name : {"plain", "unknown"}) {
    call(name, "R:b\n");
    answer("tools/call", kPass);
    EXPECT_EQ(take(), "ok") << name;
  }
}

TEST_F(CallsWithParams, ATransportWithoutHeadersIsNotCompared) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"));
  answer("tools/call", kPass);
}

TEST_F(CallsWithParams, OtherMethodsDoNotWait) {
  bench.send_modern(client, request("1", "prompts/get", R"("name":"t")"),
                    ModernBench::Beside{.mirrored = ""});
  EXPECT_EQ(parse_asked(child.take_line()).method, "prompts/get");
}

TEST_F(CallsWithParams, AListOfAClientIsLearnt) {
  bench.send_modern(client, request("1", "tools/list"), ModernBench::Beside{.mirrored = ""});
  answer("tools/list", page(tool("t", "R")));
  EXPECT_EQ(take(), "ok");
  call("t", "");
  EXPECT_EQ(take(), "-32020");
  expect_nothing_asked();
  // A new list may no longer mark the argument.
  bench.send_modern(client, request("1", "tools/list"), ModernBench::Beside{.mirrored = ""});
  answer("tools/list", page(tool("t")));
  EXPECT_EQ(take(), "ok");
  call("t", "");
  answer("tools/list", page(tool("t")));
  answer("tools/call", kPass);
}

TEST_F(CallsWithParams, ACallThatWaitsCanBeCancelled) {
  call("t", "");
  EXPECT_EQ(bench.backend.calls(), 1U);
  bench.send_modern(client, note("cancelled", R"({"requestId":1})"));
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_EQ(bench.status().in_flight, 1U) << "the list is still asked for";
  answer("tools/list", page(tool("t", "R")));
  EXPECT_EQ(take(), "none");
  expect_nothing_asked();
}

TEST_F(CallsWithParams, AllPartsAreAskedFor) {
  call("t", "");
  answer("tools/list", page(tool("a", "A"), R"(,"nextCursor":"c")"));
  const std::string line = child.take_line();
  EXPECT_NE(line.find(R"("cursor":"c")"), std::string::npos) << line;
  child.answer(parse_asked(line).id, page(tool("t", "R")));
  EXPECT_EQ(take(), "-32020");
  call("a", "");
  EXPECT_EQ(take(), "-32020");
}

// Claims are off, because their filter would bind a cursor to its child.
class CallsWithParamsOfTwo : public testing::Test {
 public:
  static backend::BackendOptions options() {
    auto options = ModernBench::options_of(config::Revision::modern, config::Isolation::shared);
    options.config.pool.min = options.config.pool.max = 2;
    options.config.pool.sticky = false;
    return options;
  }
  // A call waits for the list, and the first child has answered with one page of it. The first
  // child is busier than the second.
  void SetUp() override {
    bench.send_modern(client, request("1", "tools/call", R"("name":"t","arguments":{"r":"a"})"),
                      ModernBench::Beside{.mirrored = "R:b\n"});
    const Asked list = next_of(first);
    ASSERT_EQ(list.method, "tools/list");
    for (const char* id : {"2", "3"}) {
      bench.send_modern(client, request(id, "prompts/get", R"("name":"p")"));
    }
    ASSERT_EQ(next_of(first).method, "prompts/get");
    second.answer(next_of(second).id, "{}");
    first.answer(list.id, page(tool("a", "A"), R"(,"nextCursor":"c")"));
  }
  [[nodiscard]] std::string last() const { return client.answers.back().text; }

  ModernBench bench{options()};
  FakeChild& first = bench.begin(0, kDiscovery);
  FakeChild& second = bench.begin(1, kDiscovery);
  FakeClient client{bench.callers};
};

TEST_F(CallsWithParamsOfTwo, AllPartsAreOfOneChild) {
  EXPECT_EQ(second.take_line(), "");
  first.answer(next_of(first).id, page(tool("t", "R")));
  EXPECT_NE(last().find("-32020"), std::string::npos) << last();
}

TEST_F(CallsWithParamsOfTwo, AnotherOneIsAskedForAllOfThemWhenItHasGone) {
  first.exit(1);
  const std::string line = second.take_line();
  EXPECT_EQ(parse_asked(line).method, "tools/list");
  EXPECT_EQ(line.find("cursor"), std::string::npos) << line;
  second.answer(parse_asked(line).id, page(tool("t", "R")));
  EXPECT_NE(last().find("-32020"), std::string::npos) << last();
}

TEST_F(CallsWithParams, SoManyPartsAtMost) {
  call("t", "");
  for (size_t i = 0; i < ParamFilter::kMaxPages; ++i) {
    answer("tools/list", page("", R"(,"nextCursor":"c")"));
  }
  answer("tools/call", kPass);
}

TEST_F(CallsWithParams, AChangedListIsAskedForAgain) {
  call("t", "");
  answer("tools/list", page(tool("t", "R")));
  EXPECT_EQ(take(), "-32020");
  child.say(note("prompts/list_changed", "{}"));
  call("t", "");
  EXPECT_EQ(take(), "-32020");
  child.say(note("tools/list_changed", "{}"));
  call("t", "");
  answer("tools/list", page(tool("t")));
  answer("tools/call", kPass);
  EXPECT_EQ(take(), "ok");
}

TEST_F(CallsWithParams, AChangeIsHeardOfOnAStreamToo) {
  call("t", "");
  answer("tools/list", page(tool("t", "R")));
  FakeClient listener(bench.callers);
  bench.send_modern(listener, request("2", "subscriptions/listen",
                                      R"("notifications":{"toolsListChanged":true})"));
  const std::string id = child.take_ids().at(0);
  child.say(note("tools/list_changed",
                 R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}}"));
  call("t", "");
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/list");
}

TEST_F(CallsWithParams, AChangeWhileTheListIsUnderWayIsNotMissed) {
  call("t", "");
  const std::string id = child.take_ids().at(0);
  child.say(note("tools/list_changed", "{}"));
  child.answer(id, page(tool("t")));
  answer("tools/call", kPass);
  call("t", "");
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/list");
}

TEST_F(CallsWithParams, AfterARestartWhatIsNotKnownIsAskedFor) {
  call("plain", "");
  answer("tools/list", page(tool("t", "R")));
  answer("tools/call", kPass);
  child.exit(0);
  bench.advance(std::chrono::seconds(1));
  FakeChild& next = bench.begin(1, kDiscovery);
  call("plain", "");
  EXPECT_EQ(parse_asked(next.take_line()).method, "tools/list");
}

TEST_F(CallsWithParams, WithoutAListCallsPass) {
  call("t", "R:b\n");
  const std::string id = child.take_ids().at(0);
  child.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32601,"message":"no"}})");
  answer("tools/call", kPass);
  EXPECT_EQ(take(), "ok");
  call("t", "R:b\n");
  answer("tools/call", kPass);
  bench.advance(ParamFilter::kAskAgain);
  call("t", "R:b\n");
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/list");
}

TEST_F(CallsWithParams, NobodyWaitsLonger) {
  call("t", "");
  const std::string id = child.take_ids().at(0);
  bench.advance(ParamFilter::kMaxWait - std::chrono::milliseconds(1));
  expect_nothing_asked();
  bench.advance(std::chrono::milliseconds(1));
  answer("tools/call", kPass);
  EXPECT_EQ(take(), "ok");
  child.answer(id, page(tool("t", "R")));
  call("t", "");
  EXPECT_EQ(take(), "-32020") << "what comes late is learnt";
}

TEST_F(CallsWithParams, NobodyWaitsBeyondItsDeadline) {
  bench.send_modern(client, request("1", "tools/call", R"("name":"t")"),
                    ModernBench::Beside{.mirrored = "", .timeout = std::chrono::seconds(2)});
  FakeClient other(bench.callers);
  call(other, "t", "");
  bench.advance(std::chrono::milliseconds(1999));
  EXPECT_EQ(take(), "none");
  bench.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(take(), "-31504");
  EXPECT_TRUE(other.answers.empty());
  answer("tools/list", page(tool("t")));
  answer("tools/call", kPass);
  EXPECT_EQ(other.answers.size(), 1U);
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(CallsWithParams, AClientThatLeavesWaitsNoMore) {
  call("t", "");
  bench.leave(client);
  answer("tools/list", page(tool("t")));
  expect_nothing_asked();
  EXPECT_TRUE(client.answers.empty());
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(CallsWithParams, AChildThatDiesFailsTheListAlone) {
  call("t", "");
  child.exit(1);
  EXPECT_EQ(take(), "none");
  bench.advance(std::chrono::seconds(1));
  FakeChild& next = bench.child(1);
  next.start();
  next.answer(next.take_ids().at(0), std::string(kDiscovery));
  EXPECT_EQ(parse_asked(next.take_line()).method, "tools/call");
}

TEST_F(CallsWithParams, AShutdownAnswersThem) {
  call("t", "");
  bench.backend.drain();
  bench.backend.fail_calls(rpc::faults::shutting_down());
  EXPECT_NE(take(), "none");
  EXPECT_EQ(bench.backend.calls(), 0U);
}

TEST_F(CallsWithParams, OnlySoManyWait) {
  const size_t limit = ModernBench::options_of(config::Revision::modern, config::Isolation::shared)
                           .config.pool.queue;
  for (size_t i = 0; i < limit; ++i) call("t", "");
  EXPECT_EQ(take(), "none");
  call("t", "");
  EXPECT_NE(take(), "none");
}

TEST_F(CallsWithParams, OnlySoManyToolsAreKnown) {
  std::string tools;
  for (size_t i = 0; i <= ParamFilter::kMaxTools; ++i) {
    tools += (i == 0 ? "" : ",") + tool("t" + std::to_string(i), "R");
  }
  call("plain", "");
  answer("tools/list", page(tools));
  answer("tools/call", kPass);
  call("t" + std::to_string(ParamFilter::kMaxTools - 1), "");
  EXPECT_EQ(take(), "-32020");
  call("t" + std::to_string(ParamFilter::kMaxTools), "");
  answer("tools/call", kPass);
}

TEST_F(CallsWithParams, AToolHasOnlySoManyMarks) {
  const auto with_marks = [](const std::string& name, size_t count) {
    std::string text = R"({"name":")" + name + R"(","inputSchema":{"properties":{)";
    for (size_t i = 0; i < count; ++i) {
      const std::string key = i == 0 ? "r" : "k" + std::to_string(i);
      text.append(i == 0 ? "" : ",").append("\"").append(key);
      text.append(R"(":{"type":"string","x-mcp-header":")").append(key).append("\"}");
    }
    return text + "}}}";
  };
  call("plain", "");
  answer("tools/list",
         page(with_marks("most", mcp::kMaxMarks) + "," + with_marks("more", mcp::kMaxMarks + 1)));
  answer("tools/call", kPass);
  call("most", "");
  EXPECT_EQ(take(), "-32020");
  call("more", "");
  answer("tools/call", kPass);
}

TEST_F(CallsWithParams, TheirTextsAreBounded) {
  call("plain", "");
  answer("tools/list",
         page(tool(std::string(ParamFilter::kMaxTextBytes, 't'), "R") + "," + tool("t", "R")));
  answer("tools/call", kPass);
  call(std::string(ParamFilter::kMaxTextBytes, 't'), "");
  answer("tools/call", kPass);
  call("t", "");
  EXPECT_EQ(take(), "-32020");
}

TEST(MirroredLegacyCalls, AreComparedToo) {
  ModernBench bench(config::Revision::legacy, config::Isolation::shared);
  FakeChild& child = bench.begin(0, kGreeting);
  FakeClient client(bench.callers);
  const auto call = [&](std::string_view fields) {
    bench.send_modern(client, request("1", "tools/call", R"("name":"t","arguments":{"r":"a"})"),
                      ModernBench::Beside{.mirrored = fields});
  };
  call("");
  const std::string line = child.take_line();
  const Asked list = parse_asked(line);
  EXPECT_EQ(list.method, "tools/list");
  EXPECT_EQ(line.find("io.modelcontextprotocol"), std::string::npos) << line;
  child.answer(list.id, page(tool("t", "R")));
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_NE(client.texts().back().find("-32020"), std::string::npos);
  call("R:a\n");
  EXPECT_EQ(parse_asked(child.take_line()).method, "tools/call");
}

}  // namespace
}  // namespace stdgate::test
