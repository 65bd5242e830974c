// EnvelopeParser: the parts of a message, and the reasons why texts are refused.

#include "gateway/rpc/envelope.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

std::string describe(const rpc::ParsedMessage& message) {
  constexpr const char* kKinds[] = {"request", "notification", "result", "error"};
  const rpc::Envelope& envelope = message.envelope;
  std::string out;
  const auto add = [&out](const char* name, std::string_view value) {
    if (!value.empty()) out += std::string(name) + "=" + std::string(value) + " ";
  };
  out += message.ok() ? "" : "rejected ";
  out += std::string(kKinds[static_cast<size_t>(envelope.kind)]) + " ";
  add("id", envelope.id);
  add("method", envelope.method);
  add("params", envelope.params);
  add("payload", envelope.payload);
  if (!message.ok()) out += std::string("(") + message.rejection + ") ";
  out.pop_back();
  return out;
}

// A document in one line: its messages, with a batch in brackets, or the fault and its reason.
std::string describe(const tl::expected<rpc::Document, rpc::DocumentError>& document) {
  if (!document) {
    return "! " + std::string(rpc::fault_name(document.error().fault)) + ": " +
           document.error().reason;
  }
  std::string out;
  for (const rpc::ParsedMessage& message : document->messages) {
    if (!out.empty()) out += " | ";
    out += describe(message);
  }
  return document->batch ? "[" + out + "]" : out;
}

std::string parse(std::string text, const rpc::EnvelopeLimits& limits = {}) {
  rpc::EnvelopeParser parser(limits);
  return describe(parser.parse(text));
}

struct Case {
  std::string_view text;
  std::string_view expected;
};

template <size_t size>
void check(const Case (&cases)[size]) {
  for (const Case& c : cases) EXPECT_EQ(parse(std::string(c.text)), c.expected) << c.text;
}

std::string parse_noted(std::string text, const rpc::EnvelopeLimits& limits) {
  rpc::EnvelopeParser parser(limits);
  const auto document = parser.parse(text);
  std::string out = describe(document);
  if (!document || !document->messages[0].ok()) return out;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  if (envelope.method_has_escapes) out += " (escapes)";
  if (envelope.has_lookalikes) out += " (lookalikes)";
  for (const auto& [key, value] : parser.params()) {
    out += " " + std::string(key) + "=" + std::string(value);
  }
  return out;
}

// Messages without spaces take a faster path of the parser, which must give the same result.
TEST(EnvelopeTest, SpaceChangesNothing) {
  constexpr std::string_view kMembers[] = {R"("jsonrpc":"2.0")",
                                           R"("jsonrpc":"1.0")",
                                           R"("jsonrpc")",
                                           R"("id":0)",
                                           R"("id":7)",
                                           R"("id":07)",
                                           R"("id":-7)",
                                           R"("id":1234567)",
                                           R"("id":"7")",
                                           R"("id":1e3)",
                                           R"("id":)",
                                           R"("method":"mm")",
                                           R"("method":"")",
                                           R"("method":"\u006d")",
                                           R"("method":"mmmmmmm")",
                                           R"("params":{"a":{}})",
                                           R"("params":[])",
                                           R"("params":{"a":[[1]]})",
                                           R"("params":null)",
                                           R"("params":{"a"})",
                                           R"("result":1)",
                                           R"("result":{"b":[]})",
                                           R"("result":{)",
                                           R"("error":{})",
                                           R"("Id":1)",
                                           R"("é":1)"};
  rpc::EnvelopeLimits limits;
  limits.depth = 3;
  limits.id = limits.method = 6;
  limits.notes_params = true;
  const auto compare = [&](const std::string& members, std::string_view end = "}") {
    const std::string text = members + std::string(end);
    ASSERT_EQ(parse_noted("{" + text, limits), parse_noted("{ " + text, limits)) << text;
    ASSERT_EQ(parse_noted("[{" + text + "]", limits), parse_noted("[{ " + text + "]", limits))
        << text;
  };
  // Version and id come before the other members, or after them.
  for (const std::string_view first : kMembers) {
    for (const std::string_view second : kMembers) {
      const std::string two = std::string(first) + "," + std::string(second);
      for (const char* end : {"}", "", "},", "}\n"}) compare(two, end);
      for (const std::string_view third : kMembers) {
        const std::string three = two + "," + std::string(third);
        compare(R"("jsonrpc":"2.0",)" + three);
        compare(two + R"(,"jsonrpc":"2.0",)" + std::string(third));
      }
      compare(R"("method":"mm","params":{"a":1,"b":2},"jsonrpc":"2.0",)" + two);
      compare(R"("jsonrpc":"2.0","id":7,"method":"mm",)" + two);
    }
  }
}

// JSON-RPC 2.0, section 7: both directions of each example.
TEST(EnvelopeTest, ExamplesOfTheSpecification) {
  check({
      {R"({"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1})",
       "request id=1 method=subtract params=[42, 23]"},
      {R"({"jsonrpc": "2.0", "result": 19, "id": 1})", "result id=1 payload=19"},
      {R"({"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2})",
       "request id=2 method=subtract params=[23, 42]"},
      {R"({"jsonrpc": "2.0", "result": -19, "id": 2})", "result id=2 payload=-19"},
      {R"({"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3})",
       R"(request id=3 method=subtract params={"subtrahend": 23, "minuend": 42})"},
      {R"({"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]})",
       "notification method=update params=[1,2,3,4,5]"},
      {R"({"jsonrpc": "2.0", "method": "foobar"})", "notification method=foobar"},
      {R"({"jsonrpc": "2.0", "method": "foobar", "id": "1"})", R"(request id="1" method=foobar)"},
      {R"({"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"})",
       R"(error id="1" payload={"code": -32601, "message": "Method not found"})"},
      {R"({"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz])",
       "! parse_error: invalid JSON"},
      {R"({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null})",
       R"(error id=null payload={"code": -32700, "message": "Parse error"})"},
      {R"({"jsonrpc": "2.0", "method": 1, "params": "bar"})",
       "rejected notification (method must be a string)"},
      {R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"])",
       "! parse_error: invalid JSON"},
      {"[]", "! invalid_request: empty batch"},
      {"[1]", "[rejected notification (not an object)]"},
      {"[1,2,3]",
       "[rejected notification (not an object) | rejected notification (not an object) | "
       "rejected notification (not an object)]"},
      {R"([
        {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
       ])",
       R"([request id="1" method=sum params=[1,2,4] | )"
       R"(notification method=notify_hello params=[7] | )"
       R"(request id="2" method=subtract params=[42,23] | )"
       R"(rejected notification (jsonrpc must be the string 2.0) | )"
       R"(request id="5" method=foo.get params={"name": "myself"} | )"
       R"(request id="9" method=get_data])"},
      {R"([{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
           {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}])",
       "[notification method=notify_sum params=[1,2,4] | notification method=notify_hello "
       "params=[7]]"},
  });
}

TEST(EnvelopeTest, WholeDocuments) {
  check({
      {"", "! parse_error: invalid JSON"},
      {" \r\n", "! parse_error: invalid JSON"},
      {"1", "rejected notification (not an object)"},
      {"\"a\"", "rejected notification (not an object)"},
      {" null ", "rejected notification (not an object)"},
      {"nul", "! parse_error: invalid JSON"},
      {"{}", R"(rejected notification (jsonrpc must be the string 2.0))"},
      {"[{}]", R"([rejected notification (jsonrpc must be the string 2.0)])"},
      {"[[]]", "[rejected notification (not an object)]"},
      {R"([[{"jsonrpc":"2.0","method":"m"}]])", "[rejected notification (not an object)]"},
      {"[,]", "! parse_error: invalid JSON"},
      {"[1,]", "! parse_error: invalid JSON"},
      {R"({"jsonrpc":"2.0","method":"m"} {})", "! parse_error: invalid JSON"},
      {R"([{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","method":"m",}])",
       "! parse_error: invalid JSON"},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", "! parse_error: invalid UTF-8"},
      {"[{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\"\xed\xa0\x80\"]},1]",
       "! parse_error: invalid UTF-8"},
      {"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", "! parse_error: invalid JSON"},
  });
}

TEST(EnvelopeTest, WhatResemblesItsMembersIsNoted) {
  rpc::EnvelopeParser parser({});
  const auto is_noted = [&parser](std::string text) {
    const rpc::ParsedMessage message = parser.parse(text).value().messages[0];
    EXPECT_TRUE(message.ok()) << text;
    return message.envelope.has_lookalikes;
  };
  const auto has = [&](const std::string& more) {
    const bool in_request =
        is_noted(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"Method":1},)" + more + "}");
    EXPECT_EQ(is_noted(R"({"jsonrpc":"2.0","id":1,"result":{"Method":1},)" + more + "}"),
              in_request)
        << more;
    return in_request;
  };
  for (const char* more : {R"("Method":"x")", R"("PARAMS":{})", R"("ID":2)", R"("param\u017f":{})",
                           R"("\u004dethod":"x")", R"("Result":1)", R"("JSONRPC":1)"}) {
    EXPECT_TRUE(has(more)) << more;
  }
  for (const char* more : {R"("meta":1)", R"("methods":1)", R"("i":1)", R"("":1)"}) {
    EXPECT_FALSE(has(more)) << more;
  }
}

TEST(EnvelopeTest, OffsetOfAnError) {
  rpc::EnvelopeParser parser({});
  const auto offset = [&parser](std::string text) { return parser.parse(text).error().offset; };
  EXPECT_EQ(offset(""), 0u);
  EXPECT_EQ(offset("[1,x]"), 3u);
  EXPECT_EQ(offset("{} {}"), 3u);
  EXPECT_EQ(offset("[1"), 2u);
}

TEST(EnvelopeTest, Jsonrpc) {
  check({
      {R"({"method":"m","id":1})", R"(rejected request id=1 (jsonrpc must be the string 2.0))"},
      {R"({"jsonrpc":"1.0","method":"m","id":1})",
       R"(rejected request id=1 (jsonrpc must be the string 2.0))"},
      {R"({"jsonrpc":2.0,"method":"m","id":1})",
       R"(rejected request id=1 (jsonrpc must be the string 2.0))"},
      {R"({"jsonrpc":"2\u002e0","method":"m","id":1})",
       R"(rejected request id=1 (jsonrpc must be the string 2.0))"},
      {R"({"jsonrpc":" 2.0","method":"m"})",
       R"(rejected notification (jsonrpc must be the string 2.0))"},
      {R"({"JSONRPC":"2.0","method":"m"})",
       R"(rejected notification (jsonrpc must be the string 2.0))"},
  });
}

TEST(EnvelopeTest, MethodAndParams) {
  check({
      {R"({"jsonrpc":"2.0","method":"","id":1})", "request id=1"},
      {R"({"jsonrpc":"2.0","method":"rpc.x"})", "notification method=rpc.x"},
      {R"({"jsonrpc":"2.0","method":null,"id":1})",
       "rejected request id=1 (method must be a string)"},
      {R"({"jsonrpc":"2.0","method":["m"],"id":1})",
       "rejected request id=1 (method must be a string)"},
      {R"({"jsonrpc":"2.0","id":1})", "rejected request id=1 (no method, result or error)"},
      {R"({"jsonrpc":"2.0","Method":"m","id":1})",
       "rejected request id=1 (no method, result or error)"},
      {R"({"jsonrpc":"2.0","method":"m","params":{}})", "notification method=m params={}"},
      {R"({"jsonrpc":"2.0","method":"m","params":[],"id":1})", "request id=1 method=m params=[]"},
      {R"({"jsonrpc":"2.0","method":"m","params":null,"id":1})", "request id=1 method=m"},
      {R"({"jsonrpc":"2.0","method":"m","params" : null })", "notification method=m"},
      {R"({"jsonrpc":"2.0","method":"m","params":true,"id":1})",
       "rejected request id=1 (params must be an array or an object)"},
      {R"({"jsonrpc":"2.0","method":"m","params":"bar","id":1})",
       "rejected request id=1 (params must be an array or an object)"},
      {R"({"jsonrpc":"2.0","method":"m","params":0})",
       "rejected notification (params must be an array or an object)"},
      {R"({"jsonrpc":"2.0","method":"m","id":1,"extra":{"id":2,"method":"n"},"":[],"ID":3})",
       "request id=1 method=m"},
  });
}

TEST(EnvelopeTest, IdsByteForByte) {
  for (const std::string id :
       {"1", "\"1\"", "1.0", "12345678901234567890", "\"\\u00e9\"", "\"\xc3\xa9\"", "null", "-0",
        "0", "1e400", "-1.5E+3", "\"\"", "\"\\\"}{\\\\\""}) {
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})"),
              "request id=" + id + " method=m");
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","result":[1],"id": )" + id + " }"),
              "result id=" + id + " payload=[1]");
  }
  for (const std::string id : {"true", "false", "[]", "{}", "[1]", "{\"id\":1}"}) {
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","method":"m","id":)" + id + "}"),
              "rejected notification (id must be a string, a number or null)");
  }
}

TEST(EnvelopeTest, IdAndMethodAtTheirLimits) {
  const auto with_id = [](size_t size) {
    return parse(R"({"jsonrpc":"2.0","method":"m","id":")" + std::string(size - 2, 'i') + "\"}");
  };
  EXPECT_EQ(with_id(1024), "request id=\"" + std::string(1022, 'i') + "\" method=m");
  EXPECT_EQ(with_id(1025), "rejected notification (id is too long)");
  const auto with_method = [](size_t size) {
    return parse(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(size, 'm') + "\"}");
  };
  EXPECT_EQ(with_method(1024), "request id=1 method=" + std::string(1024, 'm'));
  EXPECT_EQ(with_method(1025), "rejected request id=1 (method is too long)");
}

TEST(EnvelopeTest, Responses) {
  constexpr const char* kBadError = " (error has no integer code and string message)";
  check({
      {R"({"jsonrpc":"2.0","id":1,"result":null})", "result id=1 payload=null"},
      {R"({"jsonrpc":"2.0","id":1,"result":{"error":1},"params":1})",
       R"(result id=1 payload={"error":1})"},
      {R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}})",
       "rejected error id=1 (both result and error)"},
      {R"({"jsonrpc":"2.0","id":1,"result":1,"error":null})",
       "rejected error id=1 (both result and error)"},
      {R"({"jsonrpc":"2.0","result":1})", "rejected result (response without id)"},
      {R"({"jsonrpc":"2.0","error":{"code":1,"message":""}})",
       "rejected error (response without id)"},
      {R"({"jsonrpc":"2.0","id":[],"result":1})",
       "rejected result (id must be a string, a number or null)"},
      {R"({"jsonrpc":"2.0","id":1,"method":"m","result":1})",
       "rejected request id=1 (method beside result or error)"},
      {R"({"jsonrpc":"2.0","id":1,"method":"m","error":1})",
       "rejected request id=1 (method beside result or error)"},
      {R"({"jsonrpc":"2.0","method":"m","result":1})",
       "rejected notification (method beside result or error)"},
      {R"({"jsonrpc":"1.0","id":1,"result":1})",
       R"(rejected result id=1 (jsonrpc must be the string 2.0))"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"message":"m","data":[1],"code":-0}})",
       R"(error id=1 payload={"message":"m","data":[1],"code":-0})"},
  });
  for (const std::string error :
       {"null", "1", "\"x\"", "[]", "{}", R"({"code":1})", R"({"message":"m"})",
        R"({"code":"1","message":"m"})", R"({"code":1.0,"message":"m"})",
        R"({"code":1e2,"message":"m"})", R"({"code":null,"message":"m"})",
        R"({"code":1,"message":null})", R"({"code":1,"message":1})",
        R"({"code":1,"code":1,"message":"m"})", R"({"code":1,"message":"m","message":"m"})",
        R"({"Code":1,"message":"m"})", R"([{"code":1,"message":"m"}])"}) {
    EXPECT_EQ(parse(R"({"jsonrpc":"2.0","id":1,"error":)" + error + "}"),
              std::string("rejected error id=1") + kBadError)
        << error;
  }
}

// If a member occurs twice, or has escapes in its key, two readers could see two messages.
TEST(EnvelopeTest, AmbiguousMembers) {
  constexpr const char* kTwice = "(envelope member occurs twice)";
  constexpr const char* kEscaped = "(escapes in the key of an envelope member)";
  const std::string base = R"("jsonrpc":"2.0","id":1,"method":"m","params":[])";
  const auto extended = [&base](const std::string& more) { return parse("{" + base + more + "}"); };
  EXPECT_EQ(extended(""), "request id=1 method=m params=[]");
  for (const std::string more :
       {R"(,"jsonrpc":"2.0")", R"(,"method":"m")", R"(,"params":[])", R"(,"params":1)"}) {
    EXPECT_EQ(extended(more), std::string("rejected request id=1 ") + kTwice) << more;
  }
  EXPECT_EQ(extended(R"(,"id":1)"), std::string("rejected notification ") + kTwice);
  EXPECT_EQ(extended(R"(,"id":2)"), std::string("rejected notification ") + kTwice);
  for (const std::string more :
       {R"(,"jsonrp\u0063":"2.0")", R"(,"\u006dethod":"n")", R"(,"param\u0073":[])",
        R"(,"\u0072esult":1)", R"(,"erro\u0072":1)", R"(,"\u006a\u0073onrpc":1)"}) {
    EXPECT_EQ(extended(more), std::string("rejected request id=1 ") + kEscaped) << more;
  }
  EXPECT_EQ(extended(R"(,"\u0069d":2)"), std::string("rejected notification ") + kEscaped);
  EXPECT_EQ(extended(R"(,"i\u0064":2)"), std::string("rejected notification ") + kEscaped);
  for (const std::string more : {R"(,"\u0049d":2)", R"(,"\u0069dx":2)", R"(,"x\"id":2)",
                                 R"(,"\/id":2)", R"(,"x":1,"x":2)", R"(,"Id":1)"}) {
    EXPECT_EQ(extended(more), "request id=1 method=m params=[]") << more;
  }
  check({
      {R"({"jsonrpc":"2.0","\u0069d":1,"method":"m"})",
       "rejected notification (escapes in the key of an envelope member)"},
      {R"({"jsonrpc":"2.0","id":1,"result":1,"result":2})",
       "rejected result id=1 (envelope member occurs twice)"},
      {R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""},"error":1})",
       "rejected error id=1 (envelope member occurs twice)"},
  });
}

TEST(EnvelopeTest, EscapesInTheMethodAreTold) {
  rpc::EnvelopeParser parser({});
  std::string scratch;
  std::string plain = R"({"jsonrpc":"2.0","method":"tools/call","params":["\n"]})";
  const rpc::Envelope a = parser.parse(plain)->messages[0].envelope;
  EXPECT_FALSE(a.method_has_escapes);
  std::string escaped = R"({"jsonrpc":"2.0","method":"tools\/c\u0061ll"})";
  const rpc::Envelope b = parser.parse(escaped)->messages[0].envelope;
  EXPECT_TRUE(b.method_has_escapes);
  EXPECT_EQ(b.method, R"(tools\/c\u0061ll)");
  EXPECT_EQ(rpc::decode_string(b.method, scratch), "tools/call");
}

TEST(EnvelopeTest, TextIsWhatStandsBetweenTheBraces) {
  rpc::EnvelopeParser parser({});
  std::string text = "\n [ {\"jsonrpc\":\"2.0\",\"method\":\"m\"} , 12 ,\n{ } ]\n";
  const auto document = parser.parse(text);
  ASSERT_TRUE(document);
  ASSERT_EQ(document->messages.size(), 3u);
  EXPECT_EQ(document->messages[0].envelope.text, R"({"jsonrpc":"2.0","method":"m"})");
  EXPECT_EQ(document->messages[1].envelope.text, "12");
  EXPECT_EQ(document->messages[2].envelope.text, "{ }");
}

TEST(EnvelopeTest, NewlinesBetweenTokensAreBlanked) {
  rpc::EnvelopeParser parser({});
  std::string text =
      "\r\n{\r\n\t\"jsonrpc\" :\n\"2.0\"\r,\n\"method\"\n:\"a\\nb\", \"params\" : "
      "[\n1\n,\n{\n\"x\"\n:"
      "\n\"\\r\\n\"\n}\n,\n[\n]\n]\n}\r\n";
  const std::string original = text;
  const auto document = parser.parse(text);
  ASSERT_TRUE(document);
  ASSERT_EQ(text.size(), original.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool newline = original[i] == '\r' || original[i] == '\n';
    EXPECT_EQ(text[i], newline ? ' ' : original[i]) << i;
  }
  const rpc::Envelope& envelope = document->messages[0].envelope;
  EXPECT_EQ(envelope.method, "a\\nb");
  EXPECT_EQ(envelope.params, R"([ 1 , { "x" : "\r\n" } , [ ] ])");
}

// A text that is cut anywhere is invalid JSON. The parser must not read beyond the cut.
TEST(EnvelopeTest, EveryPrefixIsRefused) {
  const std::string text =
      R"([{"jsonrpc":"2.0","id":"\u00e9\\","method":"m","params":{"a":[true,-1.5e+3,null]}},false])";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(parse(text.substr(0, size)), "! parse_error: invalid JSON") << size;
  }
}

TEST(EnvelopeTest, BatchLimit) {
  const rpc::EnvelopeLimits limits{.depth = 8, .batch = 3};
  const std::string one = R"({"jsonrpc":"2.0","method":"m"})";
  EXPECT_EQ(parse("[" + one + "," + one + "," + one + "]", limits),
            "[notification method=m | notification method=m | notification method=m]");
  EXPECT_EQ(parse("[" + one + "," + one + "," + one + "," + one + "]", limits),
            "! too_large: more messages in a batch than limits.batch");
  EXPECT_EQ(parse("[1,2,3", limits), "! parse_error: invalid JSON");
}

TEST(EnvelopeTest, DepthLimit) {
  const auto nested = [](size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  const rpc::EnvelopeLimits limits{.depth = 5};
  const auto call = [&](size_t params_depth) {
    return R"({"jsonrpc":"2.0","method":"m","params":)" + nested(params_depth, '[', ']') + "}";
  };
  EXPECT_EQ(parse(call(4), limits), "notification method=m params=[[[[]]]]");
  EXPECT_EQ(parse(call(5), limits), "! invalid_request: nested too deeply");
  EXPECT_EQ(parse("[" + call(3) + "]", limits), "[notification method=m params=[[[]]]]");
  EXPECT_EQ(parse("[" + call(4) + "]", limits), "! invalid_request: nested too deeply");
  EXPECT_EQ(parse(R"({"x":{"x":{"x":{"x":{}}}}})", limits),
            R"(rejected notification (jsonrpc must be the string 2.0))");
  EXPECT_EQ(parse(R"({"x":{"x":{"x":{"x":{"x":{}}}}}})", limits),
            "! invalid_request: nested too deeply");
  // Arrays side by side do not add to the depth.
  EXPECT_EQ(parse(R"({"x":[[],[],[[],[]],{},{"y":[]},[],[],[]]})", limits),
            R"(rejected notification (jsonrpc must be the string 2.0))");
  EXPECT_EQ(parse(nested(10'000'000, '[', ']')), "! invalid_request: nested too deeply");
  EXPECT_EQ(parse(std::string(8'000'000, '[')), "! invalid_request: nested too deeply");
}

TEST(EnvelopeTest, AParserIsReused) {
  rpc::EnvelopeParser parser({});
  std::string bad = "[1,";
  std::string batch = "[1,2,3]";
  std::string call = R"({"jsonrpc":"2.0","method":"m","id":7})";
  EXPECT_FALSE(parser.parse(bad));
  EXPECT_EQ(parser.parse(batch)->messages.size(), 3u);
  EXPECT_EQ(describe(parser.parse(call)), "request id=7 method=m");
  EXPECT_FALSE(parser.parse(bad));
  EXPECT_EQ(describe(parser.parse(call)), "request id=7 method=m");
}

// The members of params that the parser has noted, each as `key=value`.
std::string noted(std::string text, bool notes = true) {
  rpc::EnvelopeParser parser({.notes_params = notes});
  std::string before = R"({"jsonrpc":"2.0","id":0,"method":"m","params":{"before":0}})";
  parser.parse(before);
  const auto document = parser.parse(text);
  std::string out = document ? "" : "!";
  if (document && document->messages[0].ok()) {
    for (const auto& [key, value] : parser.params()) {
      out.append(key).append("=").append(value).append(" ");
    }
  }
  return out;
}

TEST(EnvelopeTest, MembersOfParamsAreNotedOnDemand) {
  const std::string head = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)";
  const auto members = [&](size_t count) {
    std::string text = head + "{";
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "\"k\":" : ",\"k\":") + std::to_string(i);
    return text + "}}";
  };
  EXPECT_EQ(noted(head + R"({ "a" : {"b":[1,{}]} ,"a":"x\"y","\u0061":-1.5e3 , "":null }})"),
            R"(a={"b":[1,{}]} a="x\"y" \u0061=-1.5e3 =null )");
  EXPECT_EQ(noted(head + R"({"a":1}})", false), "");
  EXPECT_EQ(noted("[" + head + R"({"a":1}}])"), "");
  EXPECT_EQ(noted(head + "{}}"), "");
  EXPECT_EQ(noted(head + "[1]}"), "");
  EXPECT_EQ(noted(R"({"jsonrpc":"2.0","id":1,"method":"m"})"), "");
  EXPECT_EQ(noted(head + R"({"a":1},"params":{"b":2}})"), "");
  EXPECT_EQ(noted(head + R"({"a":1,}})"), "!");
  EXPECT_EQ(noted(head + R"({"a" 1}})"), "!");
  EXPECT_TRUE(noted(members(rpc::EnvelopeParser::kMaxNoted)).ends_with("k=15 "));
  EXPECT_EQ(noted(members(rpc::EnvelopeParser::kMaxNoted + 1)), "");
}

TEST(EnvelopeTest, ErrorCode) {
  struct CodeCase {
    std::string_view code;
    std::optional<int64_t> expected;
  };
  const CodeCase cases[] = {
      {"0", 0},
      {"-0", 0},
      {"-32601", -32601},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", std::nullopt},
  };
  rpc::EnvelopeParser parser({});
  for (const CodeCase& c : cases) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"error":{"message":"code","code": )" +
                       std::string(c.code) + " }}";
    const auto document = parser.parse(text);
    ASSERT_TRUE(document && document->messages[0].ok()) << text;
    EXPECT_EQ(rpc::error_code(document->messages[0].envelope), c.expected) << c.code;
  }
  std::string result = R"({"jsonrpc":"2.0","id":1,"result":{"code":1}})";
  EXPECT_EQ(rpc::error_code(parser.parse(result)->messages[0].envelope), std::nullopt);
}

}  // namespace
}  // namespace stdgate
