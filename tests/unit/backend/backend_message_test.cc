// Backend: the bytes that reach a child and come back, and which client receives a child's
// messages.

#include <deque>

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

backend::BackendOptions one_child() {
  backend::BackendOptions options = plain_options();
  options.config.pool.min = options.config.pool.max = 1;
  return options;
}

class BackendMessage : public testing::Test {
 protected:
  BackendBench bench_{one_child()};
  FakeClient client_{bench_.callers};
  FakeChild& child_ = bench_.start_child();
};

TEST_F(BackendMessage, OnlyTheIdIsReplaced) {
  // Each case is the text before the id, and the text after the id.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"jsonrpc":"2.0","id":)", R"(,"method":"m"})"},
      {R"({"method":"m","params":{"id":5,"a":[1.0,1e400,"\u00e9"]},"id":)", R"(,"jsonrpc":"2.0"})"},
      {R"({ "id" : )", R"( , "method" : "m" , "jsonrpc" : "2.0" })"},
      {R"({"params":[12345678901234567890],"method":"\u006d","jsonrpc":"2.0","id":)", "}"},
  };
  for (const auto& [head, tail] : cases) {
    bench_.send(client_, head + "\"mine\"" + tail);
    const auto lines = child_.take_lines();
    ASSERT_EQ(lines.size(), 1U);
    const std::string id =
        lines[0].substr(head.size(), lines[0].size() - head.size() - tail.size());
    EXPECT_EQ(lines[0], head + id + tail);
    EXPECT_TRUE(rpc::parse_wire_id(id).has_value()) << id;
  }
}

TEST_F(BackendMessage, IdsComeBackByteForByte) {
  const std::vector<std::string> ids = {
      "1",           "\"1\"",        "1.0",
      "-0",          "1e2",          "12345678901234567890",
      R"("\u00e9")", "\"\xc3\xa9\"", R"("a\"\\\/b")",
      "null",        "\"\"",         '"' + std::string(1000, 'i') + '"'};
  for (const std::string& id : ids) bench_.call(client_, id);
  for (const std::string& wire_id : child_.take_ids()) {
    child_.say(R"({"result":{"id":9}, "id" : )" + wire_id + R"( ,"jsonrpc":"2.0"})");
  }
  std::vector<std::string> expected;
  for (const std::string& id : ids) {
    expected.push_back(R"({"result":{"id":9}, "id" : )" + id + R"( ,"jsonrpc":"2.0"})");
  }
  EXPECT_EQ(client_.texts(), expected);
  EXPECT_EQ(bench_.status().in_flight, 0U);
}

TEST_F(BackendMessage, PrettyPrintedTextTravelsAsOneLine) {
  bench_.send(client_, "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 1,\n  \"method\": \"m\"\n}");
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find('\r'), std::string::npos);
}

TEST_F(BackendMessage, AnswersArriveInPiecesAndInOneRead) {
  bench_.call(client_, "1");
  bench_.call(client_, "2");
  const auto ids = child_.take_ids();
  const std::string both = R"({"jsonrpc":"2.0","id":)" + ids[1] + R"(,"result":"b"})" + "\r\n\n" +
                           R"({"jsonrpc":"2.0","id":)" + ids[0] + R"(,"result":"a"})" + "\n";
  for (const char c : both) child_.output(std::string(1, c));
  const std::vector<std::string> expected = {R"({"jsonrpc":"2.0","id":2,"result":"b"})",
                                             R"({"jsonrpc":"2.0","id":1,"result":"a"})"};
  EXPECT_EQ(client_.texts(), expected);
}

TEST_F(BackendMessage, ABatchOfAnswersIsTakenApart) {
  for (const char* id : {"1", "2", "3"}) bench_.call(client_, id);
  std::string batch;
  for (const std::string& id : child_.take_ids()) {
    batch += (batch.empty() ? "[" : ",") + (R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":0})");
  }
  child_.say(batch + "]");
  const std::vector<std::string> expected = {R"({"jsonrpc":"2.0","id":1,"result":0})",
                                             R"({"jsonrpc":"2.0","id":2,"result":0})",
                                             R"({"jsonrpc":"2.0","id":3,"result":0})"};
  EXPECT_EQ(client_.texts(), expected);
}

TEST_F(BackendMessage, AnswersToNothingInFlightAreDropped) {
  bench_.call(client_, "5");
  const std::string id = child_.take_ids().at(0);
  const std::vector<std::string> strangers = {"5",
                                              "\"" + id + "\"",
                                              id + ".0",
                                              id + "e0",
                                              "-1",
                                              "null",
                                              "2147483647",
                                              "99999999999999999999",
                                              std::to_string(std::stoul(id) + 4096)};
  for (const std::string& stranger : strangers) child_.answer(stranger);
  EXPECT_TRUE(client_.answers.empty());
  EXPECT_EQ(bench_.observer.dropped[DropReason::unknown_id], static_cast<int>(strangers.size()));
  child_.answer(id, "1");
  child_.answer(id, "2");
  EXPECT_EQ(client_.texts(), std::vector<std::string>{R"({"jsonrpc":"2.0","id":5,"result":1})"});
  EXPECT_EQ(bench_.observer.dropped[DropReason::unknown_id],
            static_cast<int>(strangers.size()) + 1);
}

TEST_F(BackendMessage, ARejectedRequestIsAnsweredWithItsId) {
  struct Case {
    std::string text;
    std::string id;
  };
  const std::vector<Case> cases = {
      {R"({"jsonrpc":"1.0","id":"\u0041","method":"m"})", R"("\u0041")"},
      {R"({"jsonrpc":"2.0","method":1,"params":"bar"})", "null"},
      {"1", "null"},
  };
  for (const Case& c : cases) {
    client_.answers.clear();
    EXPECT_EQ(bench_.send(client_, c.text, 3), backend::Admission::answered_by_reply);
    ASSERT_EQ(client_.answers.size(), 1U) << c.text;
    EXPECT_EQ(client_.answers[0].fault, rpc::Fault::invalid_request);
    EXPECT_EQ(client_.answers[0].tag, 3U);
    EXPECT_EQ(client_.answers[0].text.find(R"({"jsonrpc":"2.0","id":)" + c.id + ","), 0U)
        << client_.answers[0].text;
  }
  EXPECT_EQ(bench_.observer.records.size(), cases.size());
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(BackendMessage, AClientsResponseGoesNowhere) {
  EXPECT_EQ(bench_.send(client_, R"({"jsonrpc":"2.0","id":0,"result":1})"),
            backend::Admission::dropped);
  EXPECT_EQ(bench_.observer.dropped[DropReason::stray_response], 1);
  EXPECT_TRUE(child_.take_lines().empty());
}

TEST_F(BackendMessage, NotificationsAreForwardedAsTheyAre) {
  const std::string text = R"({"jsonrpc":"2.0","method":"note","params":[1.0]})";
  EXPECT_EQ(bench_.send(client_, text), backend::Admission::delivered);
  EXPECT_EQ(child_.take_lines(), std::vector<std::string>{text});
  EXPECT_EQ(bench_.observer.notifications[Direction::to_child], 1);
  EXPECT_EQ(bench_.observer.started, 0U);
}

TEST_F(BackendMessage, AChildsNotificationGoesToTheSoleStreamingCall) {
  const std::string note = R"({"jsonrpc":"2.0","method":"tick","params":[1]})";
  child_.say(note);
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 1) << "nobody calls";

  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 1);
  child_.say(note);
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 2) << "the only call does not listen";
  child_.answer(child_.take_ids().at(0));

  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 2, true);
  child_.say(note);
  const std::vector<std::pair<session::Tag, std::string>> expected = {{2, note}};
  EXPECT_EQ(client_.events, expected);
  EXPECT_EQ(bench_.observer.notifications[Direction::to_client], 1);

  bench_.send(client_, R"({"jsonrpc":"2.0","id":1,"method":"m"})", 3, true);
  child_.say(note);
  EXPECT_EQ(client_.events, expected) << "two calls: it could belong to either";
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 3);
}

TEST_F(BackendMessage, AChildsRequestIsRefusedAndNotMistakenForAnAnswer) {
  bench_.call(client_, "1");
  const std::string id = child_.take_ids().at(0);
  child_.say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ask"})");
  child_.say(R"({"jsonrpc":"2.0","id":"\u00e9","method":"ping"})");
  const std::string tail = R"(,"error":{"code":-32601,"message":"no client here takes requests"}})";
  const std::vector<std::string> expected = {R"({"jsonrpc":"2.0","id":)" + id + tail,
                                             R"({"jsonrpc":"2.0","id":"\u00e9")" + tail};
  EXPECT_EQ(child_.take_lines(), expected);
  EXPECT_TRUE(client_.answers.empty());
  child_.answer(id);
  EXPECT_EQ(client_.answers.size(), 1U);
}

TEST_F(BackendMessage, ABrokenRequestOfTheChildEndsNoCall) {
  bench_.call(client_, "1");
  const std::string id = child_.take_ids().at(0);
  const std::vector<std::string> broken = {
      R"(,"method":1})", R"(,"method":"a","params":7})", R"(,"method":"a","method":"b"})",
      R"(,"m\u0065thod":"a"})", R"(,"method":"a","m\u0065thod":"b"})"};
  for (const std::string& rest : broken) child_.say(R"({"jsonrpc":"2.0","id":)" + id + rest);
  EXPECT_TRUE(client_.answers.empty());
  EXPECT_EQ(bench_.observer.dropped[DropReason::not_rpc], static_cast<int>(broken.size()));
  child_.answer(id);
  EXPECT_EQ(client_.answers.size(), 1U);
}

TEST_F(BackendMessage, ABrokenAnswerFailsItsCallOnly) {
  const std::vector<std::string> broken = {
      R"({"jsonrpc":"2.0","result":1,"error":{"code":1,"message":"m"},"id":)",
      R"({"jsonrpc":"2.0","id":)", R"({"jsonrpc":"1.0","result":1,"id":)",
      R"({"jsonrpc":"2.0","result":)" + std::string(200, '[') + std::string(200, ']') + ",\"id\":",
      R"({"jsonrpc":"2.0","result":{"a":nul},"id":)"};
  for (const std::string& head : broken) {
    client_.answers.clear();
    bench_.call(client_, "1", 1);
    bench_.call(client_, "2", 2);
    const auto ids = child_.take_ids();
    child_.say(head + ids[0] + "}");
    ASSERT_EQ(client_.answers.size(), 1U) << head;
    EXPECT_EQ(client_.answers[0].tag, 1U);
    EXPECT_EQ(client_.answers[0].fault, rpc::Fault::child_failed);
    child_.answer(ids[1]);
    ASSERT_EQ(client_.answers.size(), 2U);
    EXPECT_FALSE(client_.answers[1].fault.has_value());
  }
  EXPECT_EQ(bench_.launcher.launched(), 1U);
}

// A server may print its requests, with more text after them.
TEST_F(BackendMessage, ABrokenLineThatIsNoAnswerEndsNoCall) {
  bench_.call(client_, "1");
  const std::string id = child_.take_ids().at(0);
  child_.say(R"({"jsonrpc":"2.0","method":"m","id":)" + id + "} (got)");
  child_.say(R"(got {"jsonrpc":"2.0","id":)" + id + "}");
  child_.say(R"([{"jsonrpc":"2.0","result":nul,"id":)" + id + "}]");
  child_.say(R"({"jsonrpc":"2.0","method":"m","id":)" + id + R"(,"params":"cut)");
  child_.say(R"({"jsonrpc")");
  EXPECT_THAT(client_.answers, testing::IsEmpty());
  child_.answer(id);
  EXPECT_EQ(client_.answers.size(), 1U);
}

TEST_F(BackendMessage, LinesThatAreNoMessagesAreCountedAndPassed) {
  bench_.call(client_, "1");
  const std::string id = child_.take_ids().at(0);
  for (const char* line : {"listening on stdio", "{\"a\":", "\xff\xfe", "[1,]"}) child_.say(line);
  for (const char* line : {"7", "\"text\"", "{}", "[]", "[1]"}) child_.say(line);
  EXPECT_EQ(bench_.observer.dropped[DropReason::not_json], 4);
  EXPECT_EQ(bench_.observer.dropped[DropReason::not_rpc], 5);
  child_.answer(id);
  EXPECT_EQ(client_.answers.size(), 1U);
}

TEST_F(BackendMessage, AFloodOfBadLinesIsLoggedByTens) {
  const auto logged = [this] {
    std::vector<std::string> lines;
    for (const std::string& line : bench_.log.lines) {
      if (line.starts_with("child output dropped")) lines.push_back(line);
    }
    return lines;
  };
  for (int i = 0; i < 1000; ++i) child_.say("{\"secret\":" + std::string(1000, 'x'));
  EXPECT_EQ(bench_.observer.dropped[DropReason::not_json], 1000);
  EXPECT_EQ(logged().size(), 10U);
  EXPECT_LT(logged()[0].size(), 500U) << "a long line is cut";
  bench_.advance(std::chrono::seconds(1));
  child_.say(R"({"data":")" + std::string(pool::ChildLog::kMaxShownMessage - 9, 'x') + "yz\"}");
  ASSERT_EQ(logged().size(), 11U);
  EXPECT_THAT(logged()[10], HasSubstr("suppressed=990"));
  EXPECT_THAT(logged()[10], HasSubstr(R"( text={"data":"xxx)"));
  EXPECT_THAT(logged()[10], HasSubstr("xxx suppressed")) << "what may be a payload is cut early";
}

TEST(BackendOversize, AnOversizedAnswerFailsItsCallOnly) {
  backend::BackendOptions options = one_child();
  options.limits.message = 1000;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  for (const char* id : {"1", "2", "3"}) bench.call(client, id);
  const auto ids = child.take_ids();
  const auto answer_of_size = [](const std::string& id, size_t size) {
    std::string text = R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":")";
    text.append(size - text.size() - 2, 'x');
    return text + "\"}";
  };
  child.say(answer_of_size(ids[0], 1000));
  child.say(answer_of_size(ids[1], 1001));
  ASSERT_EQ(client.answers.size(), 2U);
  EXPECT_FALSE(client.answers[0].fault.has_value());
  EXPECT_EQ(client.answers[1].fault, rpc::Fault::too_large);
  EXPECT_EQ(bench.observer.dropped[DropReason::oversized], 1);
  child.answer(ids[2]);
  EXPECT_EQ(client.answers.size(), 3U);
}

TEST(BackendLengths, SpeaksContentLengthToTheChild) {
  backend::BackendOptions options = one_child();
  options.config.framing = rpc::Framing::content_length;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  const std::string note = R"({"jsonrpc":"2.0","method":"note"})";
  bench.send(client, note);
  child.output("Content-Length: 44\r\n\r\n");
  child.output(R"({"jsonrpc":"2.0","id":"q","method":"ask me"})");
  EXPECT_EQ(child.take_lines().at(0), "Content-Length: " + std::to_string(note.size()) + "\r");
  EXPECT_EQ(bench.observer.dropped.size(), 0U);

  bench.call(client);
  child.output("Content-Length: none\r\n\r\n");
  EXPECT_EQ(child.ends(), std::vector<Duration>{Duration{0}}) << "framing is lost for good";
  child.die(9);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::child_failed);
  EXPECT_EQ(bench.observer.exits, std::vector<ExitReason>{ExitReason::broken_output});
}

TEST(BackendCollisions, TwoHundredClientsWithEqualIdsEachGetTheirOwn) {
  backend::BackendOptions options = plain_options();
  options.config.pool.min = options.config.pool.max = 2;
  BackendBench bench(options);
  bench.child(0).start();
  bench.child(1).start();
  std::deque<FakeClient> clients;
  for (int i = 0; i < 200; ++i) {
    clients.emplace_back(bench.callers);
    bench.send(clients.back(),
               R"({"jsonrpc":"2.0","id":1,"method":"m","params":[)" + std::to_string(i) + "]}");
  }
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  for (const size_t index : {size_t{0}, size_t{1}}) {
    std::vector<std::string> lines = bench.child(index).take_lines();
    EXPECT_EQ(lines.size(), 100U);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      const rpc::Envelope request = parser.parse(*line).value().messages[0].envelope;
      bench.child(index).answer(std::string(request.id), std::string(request.params));
    }
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].texts(), std::vector<std::string>{R"({"jsonrpc":"2.0","id":1,"result":[)" +
                                                           std::to_string(i) + "]}"});
  }
}

TEST(BackendMethods, OnlyMethodsThatAChildKnowsGetAName) {
  backend::BackendOptions options = one_child();
  options.method_names = 2;
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  const auto call = [&](const std::string& method, const std::string& answer) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"}");
    child.say(R"({"jsonrpc":"2.0","id":)" + child.take_ids().at(0) + "," + answer + "}");
  };
  const std::string unknown = R"("error":{"code":-32601,"message":"no such method"})";
  const std::string failed = R"("error":{"code":-32602,"message":"wrong"})";
  for (int i = 0; i < 1000; ++i) call("invented" + std::to_string(i), unknown);
  EXPECT_EQ(bench.observer.methods, std::vector<std::string>{"_other"});
  call("a", R"("result":1)");
  call("\\u0062", failed);
  call("c", R"("result":1)");
  call("a", unknown);
  const std::vector<std::string> expected = {"_other", "a", "b"};
  EXPECT_EQ(bench.observer.methods, expected);
  const auto& records = bench.observer.records;
  EXPECT_EQ(records[999].method, "invented999");
  EXPECT_EQ(records[999].method_id, kOtherMethod);
  EXPECT_EQ(records[1000].method_id, 1U);
  EXPECT_EQ(records[1001].method, "b");
  EXPECT_EQ(records[1001].outcome, "error");
  EXPECT_EQ(records[1002].method, "c");
  EXPECT_EQ(records[1002].method_id, kOtherMethod) << "the table is full";
  EXPECT_EQ(records[1003].method_id, 1U);
}

TEST(BackendMethods, ACallThatAChildLetTimeOutOrDiedOnHasItsName) {
  BackendBench bench(one_child());
  FakeClient client(bench.callers);
  bench.start_child();
  const auto send = [&](const std::string& method) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"}");
  };
  send("slow");
  bench.advance(one_child().config.timeout);
  send("deadly");
  bench.child(0).die(11);
  EXPECT_EQ(bench.observer.methods, (std::vector<std::string>{"_other", "slow", "deadly"}));
  EXPECT_EQ(bench.observer.records.at(0).method_id, 1U);
  EXPECT_EQ(bench.observer.records.at(1).method_id, 2U);
  // A call that no child has received has no method id.
  send("waits");
  bench.advance(one_child().config.timeout);
  EXPECT_EQ(bench.observer.records.at(2).method_id, kOtherMethod);
}

TEST(BackendMethods, ConfiguredOnesHaveTheirNamesWhateverIsInvented) {
  backend::BackendOptions options = one_child();
  options.method_names = 10;
  options.known_methods = {"mine"};
  BackendBench bench(options);
  FakeClient client(bench.callers);
  FakeChild& child = bench.start_child();
  const auto call = [&](const std::string& method) {
    bench.send(client, R"({"jsonrpc":"2.0","id":1,"method":")" + method + "\"}");
    child.answer(child.take_ids().at(0));
  };
  for (int i = 0; i < 100; ++i) call("invented" + std::to_string(i));
  call("mine");
  EXPECT_EQ(bench.observer.records.back().method_id, 1U);
}

}  // namespace
}  // namespace stdgate::test
