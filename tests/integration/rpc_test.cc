// POST /rpc with the real program: JSON-RPC 2.0 byte for byte, up to the limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::rpc_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kKiB = size_t{1} << 10;
constexpr size_t kMiB = size_t{1} << 20;

std::string error_of(std::string_view id, int code) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"error":{"code":)" +
         std::to_string(code) + ",";
}

// The examples of JSON-RPC 2.0 section 7, with methods of the demo server.
TEST(Rpc, SpecificationExamplesAreAnsweredAsWritten) {
  struct Example {
    const char* request;
    int status;
    std::string answer;  // the whole answer, or its beginning
  };
  const Example examples[] = {
      {R"({"jsonrpc": "2.0", "method": "math/subtract", "params": [42, 23], "id": 1})", 200,
       result("1", "19")},
      {R"({"jsonrpc": "2.0", "method": "math/subtract", "params": [23, 42], "id": 2})", 200,
       result("2", "-19")},
      {R"({"jsonrpc": "2.0", "method": "math/subtract",
           "params": {"subtrahend": 23, "minuend": 42}, "id": 3})",
       200, result("3", "19")},
      {R"({"jsonrpc": "2.0", "method": "math/subtract",
           "params": {"minuend": 42, "subtrahend": 23}, "id": 4})",
       200, result("4", "19")},
      {R"({"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]})", 204, ""},
      {R"({"jsonrpc": "2.0", "method": "foobar"})", 204, ""},
      {R"({"jsonrpc": "2.0", "method": "foobar", "id": "1"})", 200, error_of("\"1\"", -32601)},
      {R"({"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz])", 400,
       error_of("null", -32700)},
      {R"({"jsonrpc": "2.0", "method": 1, "params": "bar"})", 400, error_of("null", -32600)},
      {R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
           {"jsonrpc": "2.0", "method"])",
       400, error_of("null", -32700)},
      {"[]", 400, error_of("null", -32600)},
      {"[1]", 200, "[" + error_of("null", -32600)},
      {R"([{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
           {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}])",
       204, ""},
  };
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  for (const Example& example : examples) {
    SCOPED_TRACE(example.request);
    const HttpResponse response = client.post("/rpc", example.request);
    EXPECT_EQ(response.status, example.status);
    EXPECT_THAT(response.body, StartsWith(example.answer));
    EXPECT_EQ(response.body.empty(), example.answer.empty());
    EXPECT_EQ(response.header("content-type"), example.answer.empty() ? "" : "application/json");
  }
}

TEST(Rpc, InvalidEntriesOfABatchAreAnsweredEach) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const HttpResponse three = client.post("/rpc", "[1,2,3]");
  EXPECT_EQ(three.status, 200);
  const JsonValue errors(three.body);
  ASSERT_EQ(errors.size(""), 3U);
  for (const char* place : {"/0/error/code", "/1/error/code", "/2/error/code"}) {
    EXPECT_EQ(errors.number(place), -32600);
  }
  // The specification's mixed batch. A notification and an unexpected response get no answer.
  const HttpResponse mixed = client.post(
      "/rpc",
      "[" + request("math/add", "[1,2,4]", "\"1\"") + "," + request("notify_hello", "[7]", "") +
          "," + request("math/subtract", "[42,23]", "\"2\"") + R"(,{"foo":"boo"},)" +
          request("foo.get", R"({"name":"myself"})", "\"5\"") + "," +
          R"({"jsonrpc":"2.0","id":9,"result":1},)" + request("methods", "", "\"9\"") + "]");
  EXPECT_EQ(mixed.status, 200);
  EXPECT_EQ(JsonValue(mixed.body).size(""), 5U);
  EXPECT_THAT(mixed.body, HasSubstr(result("\"1\"", "7")));
  EXPECT_THAT(mixed.body, HasSubstr(result("\"2\"", "19")));
  EXPECT_THAT(mixed.body, HasSubstr(error_of("null", -32600)));
  EXPECT_THAT(mixed.body, HasSubstr(error_of("\"5\"", -32601)));
  EXPECT_THAT(mixed.body, HasSubstr(R"({"jsonrpc":"2.0","id":"9","result":[{"name")"));
}

TEST(Rpc, NotificationsReachTheChildInOrder) {
  GatewayProcess gateway(serve_one(puppet(), "pool: { min: 1, max: 1 }"));
  HttpClient client = gateway.connect();
  std::vector<std::string> told;
  for (int i = 0; i < 20; ++i) {
    told.push_back(request("note", "[" + std::to_string(i) + "]", ""));
    EXPECT_EQ(client.post("/rpc", told.back()).status, 204);
  }
  const auto heard = JsonValue(call(client, "history").body).texts("/result");
  ASSERT_EQ(heard.size(), told.size() + 1);
  EXPECT_TRUE(std::equal(told.begin(), told.end(), heard.begin()));
}

TEST(Rpc, IdsComeBackByteForByte) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  for (const std::string id :
       {"1", "\"1\"", "1.0", "12345678901234567890", "\"\\u00e9\"", "\"\xC3\xA9\"", "-0", "null",
        "1e400", "\"\"", "\"a\\\"b\\\\\"", "0.1000", "-12345678901234567890123"}) {
    const HttpResponse response = call(client, "math/add", "[1,2]", id);
    EXPECT_EQ(response.status, 200) << id;
    EXPECT_EQ(response.body, result(id, "3"));
  }
}

TEST(Rpc, PayloadsAreNotTouched) {
  const std::string deep = std::string(127, '[') + std::string(127, ']');  // plus the envelope
  const std::string payloads[] = {
      "[\"\xF0\x9F\x98\x80 \xC2\xA0 \xE2\x80\xA8\"]",
      R"(["\ud83d\ude00","\u00e9","\/","\u0041","\u2028"])",
      R"({"b":1,"a":2,"b2":{"z":[],"y":{}},"a":3})",
      "[1e400,-1E-400,1.0,1.50,-0,-0.0,0e0]",
      "[" + std::string(100, '9') + ",0." + std::string(100, '7') + "]",
      R"({"id":1,"method":"x","jsonrpc":"1.0","result":null})",
      R"([ 1 ,	2 , { "a" : [ ] } ])",
      deep,
  };
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  for (const std::string& payload : payloads) {
    const HttpResponse response = call(client, "echo", payload);
    EXPECT_EQ(response.status, 200) << payload;
    EXPECT_EQ(response.body, result("1", payload));
  }
  const HttpResponse too_deep = call(client, "echo", "[" + deep + "]");
  EXPECT_EQ(too_deep.status, 400);
  EXPECT_THAT(too_deep.body, StartsWith(error_of("null", -32600)));
}

TEST(Rpc, PrettyPrintedBodiesReachTheChildAsOneLine) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const HttpResponse response = client.post(
      "/rpc",
      "\r\n{\r\n  \"params\" : {\n    \"a\": [\n1,\r\n2]\n  },\n  \"method\": \"echo\",\n"
      "  \"id\": 7,\n  \"jsonrpc\": \"2.0\"\n}\n");
  EXPECT_EQ(response.status, 200);
  const JsonValue answer(response.body);
  EXPECT_EQ(answer.number("/id"), 7);
  EXPECT_EQ(answer.number("/result/a/1"), 2);
}

std::string batch_of(size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") +
            request("math/add", "[1," + std::to_string(i) + "]", std::to_string(i));
  }
  return text + "]";
}

TEST(Rpc, BatchOfAThousandIsAnsweredAndOneMoreRefused) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const HttpResponse response = client.post("/rpc", batch_of(1000));
  ASSERT_EQ(response.status, 200);
  EXPECT_EQ(JsonValue(response.body).size(""), 1000U);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_THAT(response.body, HasSubstr(result(std::to_string(i), std::to_string(i + 1))));
  }
  const HttpResponse refused = client.post("/rpc", batch_of(1001));
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, StartsWith(error_of("null", -32007)));
  EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3"));
}

// A call of math/add, followed by white space.
std::string body_of(size_t size) {
  const std::string empty = request("math/add", R"({"a":1,"b":2})");
  return empty + std::string(size - empty.size(), ' ');
}

TEST(Rpc, BodiesUpToTheLimitAreTakenAndOneByteMoreRefused) {
  GatewayProcess gateway(serve_one(demo_server(), "", "limits: { message: 64KiB }"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(client.post("/rpc", body_of(64 * kKiB)).body, result("1", "3"));
  const HttpResponse refused = client.post("/rpc", body_of(64 * kKiB + 1));
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, StartsWith(error_of("null", -32007)));
  EXPECT_EQ(refused.header("connection"), "close");

  HttpClient other = gateway.connect();
  other.send(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n10001\r\n" +
      body_of(64 * kKiB + 1) + "\r\n");
  EXPECT_EQ(other.read_response().status, 413);
}

TEST(Rpc, WhatIsNoCallHasItsStatus) {
  GatewayProcess gateway(serve_one(demo_server()));
  const std::string body = request("math/add", "[1,2]");
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded",
                           "application/json; charset=latin1", "json"}) {
    EXPECT_EQ(gateway.connect().post("/rpc", body, {{"content-type", type}}).status, 415) << type;
  }
  for (const char* type : {"application/json", "application/json-rpc", "application/vnd.x+json",
                           "Application/JSON; charset=utf-8"}) {
    EXPECT_EQ(gateway.connect().post("/rpc", body, {{"content-type", type}}).status, 200) << type;
  }
  for (const char* method : {"GET", "PUT", "DELETE", "PATCH"}) {
    HttpClient client = gateway.connect();
    client.send_request(method, "/rpc", "", {});
    const HttpResponse response = client.read_response();
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.header("allow"), "POST, OPTIONS") << method;
  }
  EXPECT_EQ(gateway.connect().post("/nothing", body).status, 404);
  EXPECT_EQ(gateway.connect().get("/metrics").status, 404);
  EXPECT_EQ(gateway.connect().post("/main/rpc", body).body, result("1", "3"));
}

TEST(Rpc, LargeMessagesPassBothWays) {
  GatewayProcess gateway(serve_one(demo_server(), "pool: { min: 1 }"));
  HttpClient client(gateway.url(), Millis(60'000));
  const size_t around = request("echo", "[\"\"]").size();
  for (const size_t size : {kMiB, 16 * kMiB - around}) {
    const std::string payload = "[\"" + std::string(size, 'x') + "\"]";
    const HttpResponse response = call(client, "echo", payload);
    ASSERT_EQ(response.status, 200);
    EXPECT_TRUE(response.body == result("1", payload)) << size;
  }
}

TEST(Rpc, ChunkedBodiesAreJoined) {
  GatewayProcess gateway(serve_one(demo_server()));
  HttpClient client = gateway.connect();
  const std::string body = request("echo", "[\"\xC3\xA9\"]");
  std::string bytes =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (const char byte : body) bytes += "1;name=\"value\"\r\n" + std::string(1, byte) + "\r\n";
  client.send(bytes + "0\r\nTrailer: 1\r\n\r\n");
  EXPECT_EQ(client.read_response().body, result("1", "[\"\xC3\xA9\"]"));
  EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3"));
}

TEST(Rpc, LongLinesOfAChildArriveWhole) {
  GatewayProcess gateway(serve_one(puppet()));
  HttpClient client = gateway.connect();
  const HttpResponse response = call(client, "blob", R"({"size":200000})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, result("1", '"' + std::string(200'000, 'x') + '"'));
}

}  // namespace
}  // namespace stdgate::harness::rpc_test
