#include "gateway/demo/demo_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// A server whose clock is controlled by the test.
class Demo {
 public:
  std::vector<std::string> send(std::string input, size_t piece = SIZE_MAX) {
    input += '\n';
    for (size_t at = 0; at < input.size(); at += std::min(piece, input.size() - at)) {
      const size_t size = std::min(piece, input.size() - at);
      server_.feed({input.data() + at, size}, now_);
    }
    return take();
  }
  std::vector<std::string> advance(milliseconds time) {
    now_ += time;
    server_.run_due(now_);
    return take();
  }
  std::vector<std::string> finish() {
    server_.finish(now_);
    return take();
  }
  void send_unfinished(std::string input) { server_.feed({input.data(), input.size()}, now_); }
  std::optional<milliseconds> until_due() const {
    const auto due = server_.next_due();
    if (!due) return std::nullopt;
    return std::chrono::duration_cast<milliseconds>(*due - now_);
  }

 private:
  std::vector<std::string> take() {
    auto lines = split_lines(server_.output());
    server_.clear_output();
    return lines;
  }

  demo::DemoServer server_;
  TimePoint now_{std::chrono::hours(1)};
};

std::string request(std::string_view method, std::string_view params, std::string_view id = "1") {
  std::string text = R"({"jsonrpc":"2.0","method":")" + std::string(method) + '"';
  if (!params.empty()) text += ",\"params\":" + std::string(params);
  if (!id.empty()) text += ",\"id\":" + std::string(id);
  return text + '}';
}

std::string result(std::string_view value, std::string_view id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + ",\"result\":" + std::string(value) + '}';
}

std::string error_start(int code, std::string_view id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
         ",\"error\":{\"code\":" + std::to_string(code) + ",\"message\":\"";
}

TEST(DemoServer, Calculates) {
  struct Case {
    const char* method;
    const char* params;
    const char* result;
  };
  const Case cases[] = {
      {"math/add", "[1,2]", "3"},
      {"math/add", "[1, 2 ,3,\t4]", "10"},
      {"math/add", R"({"a":1,"b":2})", "3"},
      {"math/add", R"({"b":2,"a":1})", "3"},
      {"math/add", R"({"\u0061":1,"b":2})", "3"},
      {"math/add", "[0.1,0.2]", "0.30000000000000004"},
      {"math/add", "[1.5,1.5]", "3"},
      {"math/add", "[1e3,1]", "1001"},
      {"math/add", "[9007199254740993,0]", "9007199254740993"},
      {"math/add", "[9223372036854775806,1]", "9223372036854775807"},
      {"math/add", "[9223372036854775807,1]", "9223372036854775808"},
      {"math/add", "[-9223372036854775808,-1]", "-9223372036854775808"},
      {"math/add", "[18446744073709551616,0]", "18446744073709551616"},
      {"math/subtract", "[42,23]", "19"},
      {"math/subtract", "[23,42]", "-19"},
      {"math/subtract", R"({"subtrahend":23,"minuend":42})", "19"},
      {"math/subtract", R"({"minuend":42,"subtrahend":23})", "19"},
      {"math/subtract", R"({"a":42,"b":23})", "19"},
      {"math/multiply", "[6,7]", "42"},
      {"math/multiply", "[2,3,4]", "24"},
      {"math/multiply", "[3037000499,3037000499]", "9223372030926249001"},
      {"math/multiply", "[-4,0.25]", "-1"},
      {"math\\/add", "[1,2]", "3"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.method) + c.params);
    EXPECT_THAT(Demo().send(request(c.method, c.params)), ElementsAre(result(c.result)));
  }
}

TEST(DemoServer, RejectsWrongParams) {
  struct Case {
    const char* method;
    const char* params;
    const char* says;
  };
  const Case cases[] = {
      {"math/add", "", "two or more numbers"},
      {"math/add", "[]", "two or more numbers"},
      {"math/add", "[1]", "two or more numbers"},
      {"math/add", "[1,\"2\"]", "two or more numbers"},
      {"math/add", "[\"1,2\",3]", "two or more numbers"},
      {"math/add", "[[1,2],3]", "two or more numbers"},
      {"math/add", "[1,null]", "two or more numbers"},
      {"math/add", "[1,1e400]", "two or more numbers"},
      {"math/add", R"({"a":1})", "two or more numbers"},
      {"math/add", R"({"a":1,"b":"2"})", "two or more numbers"},
      {"math/add", R"({"a":1,"b":2,"b":3})", "two or more numbers"},
      {"math/add", R"({"minuend":1,"subtrahend":2})", "two or more numbers"},
      {"math/multiply", "[1e308,10]", "too large"},
      {"math/subtract", "[1]", "two numbers"},
      {"math/subtract", "[1,2,3]", "two numbers"},
      {"echo", "", "missing"},
      {"sleep", "", "ms must be an integer from 0 to 600000"},
      {"sleep", "[-1]", "ms must be"},
      {"sleep", "[600001]", "ms must be"},
      {"sleep", "[1.5]", "ms must be"},
      {"sleep", "[1,2]", "too many"},
      {"sleep", R"({"ms":"1"})", "ms must be"},
      {"sleep", R"({"ms":1,"ms":1})", "ms must be"},
      {"stream", "[0]", "count must be an integer from 1 to 10000"},
      {"stream", "[10001]", "count must be"},
      {"stream", "[1,60001]", "interval_ms must be an integer from 0 to 60000"},
      {"stream", "[1,1,1]", "too many"},
      {"stream", R"({"progressToken":[]})", "progressToken must be a string or a number"},
      {"math/add_stream", "", "two or more numbers"},
      {"math/add_stream", "[1]", "two or more numbers"},
      {"math/add_stream", R"([1,"2"])", "two or more numbers"},
      {"math/add_stream", R"({"numbers":3})", "two or more numbers"},
      {"math/add_stream", R"({"numbers":[1,2],"interval_ms":60001})", "interval_ms must be"},
      {"math/add_stream", R"({"a":1,"b":2,"progressToken":{}})", "progressToken must be"},
      {"math/add_stream", "[1e308,1e308]", "too large"},
      {"tick/subscribe", "[0]", "interval_ms must be"},
      {"tick/unsubscribe", "[7]", "no such subscription"},
      {"tick/unsubscribe", "", "subscription must be"},
      {"$/cancelRequest", "", "id must be"},
      {"ask", "", "method must be the name"},
      {"ask", R"({"method":1})", "method must be the name"},
      {"ask", R"({"method":"a","method":"b"})", "method must be the name"},
      {"ask", R"({"method":"a","params":1})", "params must be an object or an array"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.method) + c.params);
    EXPECT_THAT(Demo().send(request(c.method, c.params)),
                ElementsAre(AllOf(testing::StartsWith(error_start(-32602)), HasSubstr(c.says))));
    EXPECT_THAT(Demo().send(request(c.method, c.params, "")), IsEmpty());
  }
}

// JSON-RPC 2.0 section 7, with the methods of the demo server.
TEST(DemoServer, FollowsTheSpecification) {
  const std::string add = request("math/add", "[1,2]", "1");
  const std::string notification = request("math/add", "[1,2]", "");
  const std::string invalid = R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)";
  struct Case {
    std::string input;
    std::vector<std::string> starts;  // beginnings of the answers
  };
  const std::vector<Case> cases = {
      {request("echo", R"({"x": [1.0, "\u00e9"]})"), {result(R"({"x": [1.0, "\u00e9"]})")}},
      {request("echo", "[ ]", R"("\u00e9")"), {result("[ ]", R"("\u00e9")")}},
      {request("echo", "[1]", "12345678901234567890"), {result("[1]", "12345678901234567890")}},
      {request("echo", "[1]", "null"), {result("[1]", "null")}},
      {notification, {}},
      {request("foobar", ""), {error_start(-32601)}},
      {request("foobar", "", ""), {}},
      {R"({"jsonrpc":"2.0","result":1,"id":1})", {}},
      {R"({"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz])",
       {error_start(-32700, "null")}},
      {R"({"jsonrpc": "2.0", "method": 1, "params": "bar"})", {error_start(-32600, "null")}},
      {R"({"jsonrpc":"2.0","method":"echo","params":1,"id":5})", {error_start(-32600, "5")}},
      {R"([{"jsonrpc": "2.0", "method": "sum"},{"jsonrpc": "2.0", "method")",
       {error_start(-32700, "null")}},
      {"[]", {error_start(-32600, "null")}},
      {"[1]", {"[" + invalid}},
      {"[1,2,3]", {"[" + invalid}},
      {"[" + notification + "," + notification + "]", {}},
      {"[" + add + "," + notification + "," + add + "]",
       {"[" + result("3") + "," + result("3") + "]"}},
      {"[" + add + ",1]", {"[" + result("3") + "," + invalid}},
      {request("fail", ""),
       {R"({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error",)"
        R"("data":{"reason":"asked to fail"}}})"}},
  };
  for (const Case& c : cases) {
    for (const size_t piece : {SIZE_MAX, size_t{1}}) {
      SCOPED_TRACE(c.input);
      Demo demo;
      const auto lines = demo.send(c.input, piece);
      ASSERT_EQ(lines.size(), c.starts.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        EXPECT_THAT(lines[i], testing::StartsWith(c.starts[i]));
      }
      // After any input, the next line is served.
      EXPECT_THAT(demo.send(add), ElementsAre(result("3")));
    }
  }
}

TEST(DemoServer, AnswersEachEntryOfABatch) {
  const auto lines = Demo().send("[1,2,3]");
  ASSERT_EQ(lines.size(), 1U);
  size_t answers = 0;
  for (size_t at = 0; (at = lines[0].find("-32600", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 3U);
  EXPECT_EQ(lines[0].back(), ']');
}

TEST(DemoServer, EveryListedMethodExists) {
  const auto lines = Demo().send(request("methods", ""));
  ASSERT_EQ(lines.size(), 1U);
  size_t count = 0;
  const std::string key = "\"name\":\"";
  for (size_t at = 0; (at = lines[0].find(key, at)) != std::string::npos; ++count) {
    at += key.size();
    const std::string name = lines[0].substr(at, lines[0].find('"', at) - at);
    const auto answer = Demo().send(request(name, "[]"));
    if (!answer.empty()) {
      EXPECT_THAT(answer[0], Not(HasSubstr("-32601"))) << name;
    }
  }
  EXPECT_EQ(count, 13U);
}

TEST(DemoServer, SleepsWithoutHoldingUpOthers) {
  Demo demo;
  EXPECT_EQ(demo.until_due(), std::nullopt);
  EXPECT_THAT(demo.send(request("sleep", R"({"ms":500})", "7")), IsEmpty());
  EXPECT_EQ(demo.until_due(), milliseconds(500));
  EXPECT_THAT(demo.send(request("sleep", "[100]", "8")), IsEmpty());
  EXPECT_EQ(demo.until_due(), milliseconds(100));
  EXPECT_THAT(demo.send(request("math/add", "[1,2]", "9")), ElementsAre(result("3", "9")));
  EXPECT_THAT(demo.advance(milliseconds(99)), IsEmpty());
  EXPECT_THAT(demo.advance(milliseconds(1)), ElementsAre(result(R"({"slept_ms":100})", "8")));
  EXPECT_THAT(demo.advance(milliseconds(400)), ElementsAre(result(R"({"slept_ms":500})", "7")));
  EXPECT_EQ(demo.until_due(), std::nullopt);
}

TEST(DemoServer, StreamsProgressThenTheResult) {
  const auto progress = [](int step, int of) {
    return R"({"jsonrpc":"2.0","method":"progress","params":{"step":)" + std::to_string(step) +
           ",\"of\":" + std::to_string(of) + "}}";
  };
  Demo demo;
  EXPECT_THAT(demo.send(request("stream", R"({"count":2,"interval_ms":50})")), IsEmpty());
  EXPECT_THAT(demo.advance(milliseconds(50)), ElementsAre(progress(1, 2)));
  EXPECT_THAT(demo.send(request("echo", "[]", "2")), ElementsAre(result("[]", "2")));
  EXPECT_THAT(demo.advance(milliseconds(50)),
              ElementsAre(progress(2, 2), result(R"({"steps":2})")));
  EXPECT_EQ(demo.until_due(), std::nullopt);
  // The defaults are three steps, 100 ms apart.
  EXPECT_THAT(demo.send(request("stream", "")), IsEmpty());
  EXPECT_EQ(demo.until_due(), milliseconds(100));
  EXPECT_THAT(demo.advance(milliseconds(100)), ElementsAre(progress(1, 3)));
  // With an interval of 0 there is one step per turn, so that other requests are served in between.
  EXPECT_THAT(Demo().send(request("stream", "[5,0]")), IsEmpty());
  Demo fast;
  fast.send(request("stream", "[2,0]"));
  EXPECT_THAT(fast.advance(milliseconds(0)), ElementsAre(progress(1, 2)));
  EXPECT_EQ(fast.until_due(), milliseconds(0));
  EXPECT_THAT(fast.advance(milliseconds(0)), testing::SizeIs(2));
}

TEST(DemoServer, StreamsPartialSumsThenTheSum) {
  const auto progress = [](int step, int of, const char* sum) {
    return R"({"jsonrpc":"2.0","method":"progress","params":{"step":)" + std::to_string(step) +
           ",\"of\":" + std::to_string(of) + ",\"sum\":" + sum + "}}";
  };
  Demo demo;
  EXPECT_THAT(demo.send(request("math/add_stream", "[1,2,3.5]")), IsEmpty());
  EXPECT_EQ(demo.until_due(), milliseconds(100));
  EXPECT_THAT(demo.advance(milliseconds(100)), ElementsAre(progress(1, 3, "1")));
  EXPECT_THAT(demo.advance(milliseconds(100)), ElementsAre(progress(2, 3, "3")));
  EXPECT_THAT(demo.advance(milliseconds(100)), ElementsAre(progress(3, 3, "6.5"), result("6.5")));
  EXPECT_EQ(demo.until_due(), std::nullopt);
  for (const char* params :
       {R"({"a":1,"b":2,"interval_ms":7})", R"({"numbers":[1,2],"interval_ms":7})"}) {
    demo.send(request("math/add_stream", params));
    EXPECT_EQ(demo.until_due(), milliseconds(7));
    EXPECT_THAT(demo.advance(milliseconds(7)), ElementsAre(progress(1, 2, "1")));
    EXPECT_THAT(demo.advance(milliseconds(7)), ElementsAre(progress(2, 2, "3"), result("3")));
  }
  // The stream can be cancelled like any other request.
  demo.send(request("math/add_stream", "[1,2]", "9"));
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":9})", "")),
              ElementsAre(HasSubstr("-32800")));
}

TEST(DemoServer, StreamsSumsOfSoManyNumbers) {
  const auto numbers = [](size_t count) {
    std::string list = "[0";
    for (size_t i = 1; i < count; ++i) list += ",0";
    return list + "]";
  };
  EXPECT_THAT(Demo().send(request("math/add_stream", numbers(demo::kMaxSummands))), IsEmpty());
  EXPECT_THAT(Demo().send(request("math/add_stream", numbers(demo::kMaxSummands + 1))),
              ElementsAre(HasSubstr("too many numbers")));
}

TEST(DemoServer, ProgressNamesTheTokenOfItsCall) {
  Demo demo;
  demo.send(request("stream", R"({"count":1,"interval_ms":0,"progressToken":"t\u00e9"})"));
  EXPECT_THAT(
      demo.advance(milliseconds(0)),
      ElementsAre(
          R"({"jsonrpc":"2.0","method":"progress","params":{"progressToken":"t\u00e9","step":1,"of":1}})",
          result(R"({"steps":1})")));
  demo.send(
      request("math/add_stream", R"({"a":1,"b":2,"interval_ms":0,"_meta":{"progressToken":7}})"));
  EXPECT_THAT(
      demo.advance(milliseconds(0)),
      ElementsAre(
          R"({"jsonrpc":"2.0","method":"progress","params":{"progressToken":7,"step":1,"of":2,"sum":1}})"));
}

TEST(DemoServer, TicksUntilUnsubscribed) {
  const auto tick = [](int subscription, int count) {
    return R"({"jsonrpc":"2.0","method":"tick","params":{"subscription":)" +
           std::to_string(subscription) + ",\"count\":" + std::to_string(count) + "}}";
  };
  Demo demo;
  EXPECT_THAT(demo.send(request("tick/subscribe", R"({"interval_ms":10})")),
              ElementsAre(result("1")));
  EXPECT_THAT(demo.send(request("tick/subscribe", "")), ElementsAre(result("2")));
  EXPECT_THAT(demo.advance(milliseconds(10)), ElementsAre(tick(1, 1)));
  EXPECT_THAT(demo.advance(milliseconds(10)), ElementsAre(tick(1, 2)));
  EXPECT_THAT(demo.send(request("tick/unsubscribe", "[1]")), ElementsAre(result("true")));
  EXPECT_THAT(demo.advance(milliseconds(980)), ElementsAre(tick(2, 1)));
  // Ticks that a long pause has missed are not made up for.
  EXPECT_THAT(demo.advance(milliseconds(60'000)), ElementsAre(tick(2, 2)));
  EXPECT_THAT(demo.advance(milliseconds(0)), ElementsAre(tick(2, 3)));
  EXPECT_THAT(demo.advance(milliseconds(999)), IsEmpty());
  EXPECT_THAT(demo.send(request("tick/unsubscribe", R"({"subscription":1})")),
              ElementsAre(testing::StartsWith(error_start(-32602))));
}

std::string question(std::string_view method, std::string_view params, int id) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id);
  text.append(R"(,"method":")").append(method).append("\"");
  if (!params.empty()) text.append(",\"params\":").append(params);
  return text + '}';
}

TEST(DemoServer, AnswersWithWhatTheClientAnswers) {
  Demo demo;
  EXPECT_THAT(demo.send(request("ask", R"({"method":"name","params":{"polite": true}})", "\"a\"")),
              ElementsAre(question("name", R"({"polite": true})", 1)));
  EXPECT_THAT(demo.send(request("ask", R"({"method":"\u00e9"})", "2")),
              ElementsAre(question(R"(\u00e9)", "", 2)));
  EXPECT_THAT(demo.send(request("ask", R"({"method":"nobody waits"})", "")), IsEmpty());
  // Answers that match no question are ignored.
  for (const char* id : {"0", "3", "\"1\"", "1.0", "null", "99999999999999999999"}) {
    EXPECT_THAT(demo.send(result("[]", id)), IsEmpty()) << id;
  }
  EXPECT_THAT(demo.send(R"({"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"no"}})"),
              ElementsAre(R"({"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"no"}})"));
  EXPECT_THAT(demo.send(result(R"(["\u00e9", 1.0])", "1")),
              ElementsAre(result(R"(["\u00e9", 1.0])", "\"a\"")));
  EXPECT_THAT(demo.send(result("[]", "1")), IsEmpty());  // the question has been answered
}

TEST(DemoServer, AsksFromWithinABatch) {
  Demo demo;
  EXPECT_THAT(demo.send("[" + request("ask", R"({"method":"x"})", "1") + "," +
                        request("echo", "[]", "2") + "]"),
              ElementsAre(question("x", "", 1)));
  EXPECT_THAT(demo.send(result("5", "1")),
              ElementsAre("[" + result("[]", "2") + "," + result("5", "1") + "]"));
}

TEST(DemoServer, CancelsByTheSpelledId) {
  Demo demo;
  demo.send(request("sleep", "[500]", "\"a\""));
  demo.send(request("stream", "[3,500]", "4"));
  demo.send(request("tick/subscribe", "[600]", "5"));
  const std::string cancelled = "cancelled\"}}";
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":"a"})", "")),
              ElementsAre(error_start(-32800, "\"a\"") + cancelled));
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":"a"})", "")), IsEmpty());
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":"4"})", "")), IsEmpty());
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":5})", "")), IsEmpty());
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":4})", "")),
              ElementsAre(error_start(-32800, "4") + cancelled));
  demo.send(request("ask", R"({"method":"x"})", "6"));
  EXPECT_THAT(demo.send(request("$/cancelRequest", R"({"id":6})", "")),
              ElementsAre(error_start(-32800, "6") + cancelled));
  EXPECT_THAT(demo.send(result("[]", "1")), IsEmpty());
  EXPECT_EQ(demo.until_due(), milliseconds(600));
}

TEST(DemoServer, AnswersABatchWhenItsLastCallIsDone) {
  Demo demo;
  const std::string batch = "[" + request("sleep", "[20]", "1") + "," + request("echo", "[]", "2") +
                            "," + request("sleep", "[10]", "3") + "," +
                            request("sleep", "[5]", "4") + "," + request("sleep", "[30]", "") + "]";
  EXPECT_THAT(demo.send(batch), IsEmpty());
  EXPECT_THAT(demo.advance(milliseconds(10)), IsEmpty());
  const std::string cancel = request("$/cancelRequest", R"({"id":1})", "");
  const auto lines = demo.send(cancel);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::StartsWith(
                            "[" + result("[]", "2") + "," + result(R"({"slept_ms":5})", "4") + "," +
                            result(R"({"slept_ms":10})", "3") + "," + error_start(-32800, "1")));
  EXPECT_THAT(demo.advance(milliseconds(30)), IsEmpty());
}

TEST(DemoServer, LimitsWhatWaits) {
  Demo demo;
  for (size_t i = 0; i < demo::DemoServer::kMaxTimed; ++i) {
    const char* const method = i % 2 == 0 ? "sleep" : "stream";
    ASSERT_THAT(demo.send(request(method, "[1000]", std::to_string(i))), IsEmpty());
  }
  for (const char* method : {"sleep", "stream", "tick/subscribe"}) {
    EXPECT_THAT(demo.send(request(method, "[1000]", "1")),
                ElementsAre(testing::StartsWith(error_start(-32000))));
  }
  demo.send(request("$/cancelRequest", R"({"id":7})", ""));
  EXPECT_THAT(demo.send(request("tick/subscribe", "")), ElementsAre(result("1")));
  for (size_t i = 0; i < demo::DemoServer::kMaxAsked; ++i) {
    ASSERT_THAT(demo.send(request("ask", R"({"method":"x"})")), testing::SizeIs(1));
  }
  EXPECT_THAT(demo.send(request("ask", R"({"method":"x"})")),
              ElementsAre(testing::StartsWith(error_start(-32000))));
}

TEST(DemoServer, RefusesAnOversizedMessageAndGoesOn) {
  Demo demo;
  std::string line = request("echo", "", "3");
  line.pop_back();
  line += ",\"params\":[\"" + std::string(demo::DemoServer::kMaxMessage - line.size() - 15, 'x') +
          "\"]}";
  ASSERT_EQ(line.size(), demo::DemoServer::kMaxMessage);
  EXPECT_THAT(demo.send(line),
              ElementsAre(testing::StartsWith(R"({"jsonrpc":"2.0","id":3,"result")")));
  line.insert(line.size() - 3, "x");
  EXPECT_THAT(demo.send(line), ElementsAre(testing::StartsWith(error_start(-32600, "3"))));
  EXPECT_THAT(demo.send(request("echo", "[]")), ElementsAre(result("[]")));
}

TEST(DemoServer, ServesALastLineWithoutItsEnd) {
  Demo demo;
  demo.send_unfinished(request("echo", "[1]"));
  EXPECT_THAT(demo.finish(), ElementsAre(result("[1]")));
}

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

// Runs run_demo_server() in a thread, between two pipes.
class Process {
 public:
  Process() {
    EXPECT_EQ(pipe2(in_, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out_, O_CLOEXEC), 0);
    thread_ = std::thread([this] {
      exit_code_ = demo::run_demo_server(in_[0], out_[1], clock_);
      ::close(out_[1]);
    });
  }
  ~Process() {
    close_input();
    close_output();
    if (thread_.joinable()) thread_.join();
    ::close(in_[0]);
  }
  void write(std::string_view text) {
    EXPECT_EQ(::write(in_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Reads through the next line end. At the end of the output, returns the rest.
  std::string read_line() {
    std::string line;
    char c = 0;
    while (::read(out_[0], &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  void close_input() { close_once(in_[1]); }
  void close_output() { close_once(out_[0]); }
  int join() {
    thread_.join();
    return exit_code_;
  }

 private:
  static void close_once(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  SteadyClock clock_;
  int in_[2] = {-1, -1};
  int out_[2] = {-1, -1};
  int exit_code_ = -1;
  std::thread thread_;
};

TEST(RunDemoServer, ServesPipesUntilTheEnd) {
  Process process;
  process.write(request("sleep", "[1]", "1") + "\n" + request("sleep", "[600000]", "2") + "\n");
  EXPECT_EQ(process.read_line(), result(R"({"slept_ms":1})", "1"));
  process.write(request("echo", "[1]", "3") + "\n" + request("echo", "[2]", "4"));
  EXPECT_EQ(process.read_line(), result("[1]", "3"));
  process.close_input();
  EXPECT_EQ(process.read_line(), result("[2]", "4"));
  EXPECT_EQ(process.read_line(), "");
  EXPECT_EQ(process.join(), 0);
}

TEST(RunDemoServer, EndsWhenNobodyReads) {
  ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);
  Process process;
  process.close_output();
  process.write(request("echo", "[1]") + "\n");
  EXPECT_EQ(process.join(), 1);
}

}  // namespace
}  // namespace stdgate
