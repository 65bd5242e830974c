// Attempts to get around rules through a virtual server, on every transport. Each has a control: an
// allowed tool can be reached in the same way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/integration/member_server.h"

namespace stdgate::harness::servers_rules_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kMark = "REACHED";

// A way to send a request with these params. Returns the answer.
using Door = std::function<std::string(const std::string& method, const std::string& params)>;

std::string by_rpc(const GatewayProcess& gateway, const std::string& path,
                   const std::string& method, const std::string& params) {
  HttpClient client = gateway.connect();
  return client.post(path, request(method, params)).body;
}

std::string by_session(const GatewayProcess& gateway, const std::string& method,
                       const std::string& params) {
  HttpClient client = gateway.connect();
  const std::string id = open_mcp_session(client);
  return client.post("/mcp", request(method, params), in_mcp_session(id)).body;
}

// `name`: the tool in the header: an allowed tool, or the tool of the body if a header can contain
// its name.
std::string by_modern(const GatewayProcess& gateway, const std::string& method,
                      const std::string& params, const std::string& name) {
  HttpClient client = gateway.connect();
  const std::string inner = params.substr(1, params.size() - 2);
  return client.post("/mcp", modern_request(method, inner), modern_headers("tools/call", name))
      .body;
}

std::string by_batch(const GatewayProcess& gateway, const std::string& method,
                     const std::string& params) {
  HttpClient client = gateway.connect();
  const std::string good = R"({"name":"good_none","arguments":{}})";
  return client
      .post("/rpc", "[" + request("tools/call", good, "7") + "," + request(method, params) + "," +
                        request(method, params, "2") + "]")
      .body;
}

std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += '%';
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

std::string by_stream(const GatewayProcess& gateway, const std::string& path,
                      const std::string& method, const std::string& params) {
  HttpClient client = gateway.connect();
  client.send_request(
      "GET", path + "?method=" + percent_encoded(method) + "&params=" + percent_encoded(params), "",
      {{"accept", "text/event-stream"}});
  const HttpResponse head = client.read_head();
  if (head.status != 200) return "status " + std::to_string(head.status);
  std::string all;
  while (const auto event = client.read_event()) all += event->data;
  return all;
}

// The transport of revision 2024-11-05, whose answers arrive on a separate stream.
std::string by_sse(const GatewayProcess& gateway, const std::string& path,
                   const std::string& method, const std::string& params) {
  HttpClient stream = gateway.connect();
  stream.send_request("GET", path, "", {{"accept", "text/event-stream"}});
  if (stream.read_head().status != 200) return "no stream";
  const std::string place = stream.read_event()->data;
  HttpClient client = gateway.connect();
  client.post(place, request("initialize", initialize_params(), "0"));
  stream.read_event();
  client.post(place, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  const HttpResponse taken = client.post(place, request(method, params));
  if (taken.status != 202) return taken.body;
  for (;;) {
    const std::string data = stream.read_event()->data;
    if (data.find("\"method\":\"notifications/") == std::string::npos) return data;
  }
}

std::string by_socket(const GatewayProcess& gateway, const std::string& path,
                      const std::string& method, const std::string& params) {
  WebSocketClient client(gateway.url(),
                         {.path = path, .headers = {{"sec-websocket-protocol", "mcp"}}});
  client.send(request("initialize", initialize_params(), "0"));
  client.message();
  client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  client.send(request(method, params));
  return client.message();
}

// A client of the modern era, whose first message is the request.
std::string by_modern_socket(const GatewayProcess& gateway, const std::string& path,
                             const std::string& method, const std::string& params) {
  WebSocketClient client(gateway.url(),
                         {.path = path, .headers = {{"sec-websocket-protocol", "mcp"}}});
  client.send(modern_request(method, params.substr(1, params.size() - 2)));
  return client.message();
}

std::vector<std::pair<std::string, Door>> doors(const GatewayProcess& gateway) {
  return {
      {"/rpc", [&](const auto& method,
                   const auto& params) { return by_rpc(gateway, "/rpc", method, params); }},
      {"/team/rpc",
       [&](const auto& method, const auto& params) {
         return by_rpc(gateway, "/team/rpc", method, params);
       }},
      {"a session",
       [&](const auto& method, const auto& params) { return by_session(gateway, method, params); }},
      {"modern, as allowed",
       [&](const auto& method, const auto& params) {
         return by_modern(gateway, method, params, "good_echo");
       }},
      {"modern, as hidden",
       [&](const auto& method, const auto& params) {
         return by_modern(gateway, method, params, "good_secret");
       }},
      {"a batch",
       [&](const auto& method, const auto& params) { return by_batch(gateway, method, params); }},
      {"/rpc/stream",
       [&](const auto& method, const auto& params) {
         return by_stream(gateway, "/rpc/stream", method, params);
       }},
      {"/team/rpc/stream",
       [&](const auto& method, const auto& params) {
         return by_stream(gateway, "/team/rpc/stream", method, params);
       }},
      {"/sse", [&](const auto& method,
                   const auto& params) { return by_sse(gateway, "/sse", method, params); }},
      {"/team/sse",
       [&](const auto& method, const auto& params) {
         return by_sse(gateway, "/team/sse", method, params);
       }},
      {"/ws", [&](const auto& method,
                  const auto& params) { return by_socket(gateway, "/ws", method, params); }},
      {"/team/ws, modern",
       [&](const auto& method, const auto& params) {
         return by_modern_socket(gateway, "/team/ws", method, params);
       }},
      {"/rpc/ws",
       [&](const auto& method, const auto& params) {
         return by_socket(gateway, "/team/rpc/ws", method, params);
       }},
  };
}

std::vector<std::string> hidden_names() {
  const std::string end = R"(,"arguments":{"word":"x"}})";
  return {
      R"({"name":"good_secret")" + end,
      R"({"name":"good_s\u0065cret")" + end,
      R"({"n\u0061me":"good_secret")" + end,
      R"({"name":"good_secret ")" + end,
      R"({"name":" good_secret")" + end,
      R"({"name":"GOOD_SECRET")" + end,
      R"({"name":"secret")" + end,
      R"({"name":"good_good_secret")" + end,
      R"({"name":"good_")" + end,
      R"({"name":"")" + end,
      R"({"name":"*")" + end,
      R"({"name":"good_*")" + end,
      R"({"name":"good_secret\u0000")" + end,
      R"({"name":"good_echo\u0000good_secret")" + end,
      R"({"name":"good_echo","name":"good_secret")" + end,
      R"({"name":"good_secret","name":"good_echo")" + end,
      R"({"name":"good_echo","Name":"good_secret")" + end,
      R"({"name":"good_secret","NAME":"good_echo")" + end,
      R"({"name":"good_echo","n\u0061me":"good_secret")" + end,
      R"({"name":null)" + end,
      R"({"name":["good_secret"])" + end,
      R"({"name":{"name":"good_secret"})" + end,
      R"({"name":"call_tool","arguments":{"name":"good_secret","arguments":{}}})",
      R"({"name":"call_tool","arguments":{"name":"good_echo","Name":"good_secret"}})",
      R"({"name":"call_tool","arguments":{"name":"good_echo","name":"good_secret"}})",
      R"({"name":"call_tool","arguments":{"name":"call_tool","arguments":{"name":"good_secret"}}})",
  };
}

// How a tool is hidden: by rules of the server, by rules of the member, by the selection, or behind
// the search.
struct Hidden {
  const char* name;
  const char* backend;
  const char* member;
  const char* server;
  const char* isolation = "shared";
};

class ServersRules : public testing::TestWithParam<Hidden> {};

TEST_P(ServersRules, NoDoorLeadsToAHiddenTool) {
  const Hidden hidden = GetParam();
  GatewayProcess gateway(
      serve({backend("good", member_server(),
                     std::string("protocol: mcp, revision: legacy, isolation: ") +
                         hidden.isolation + hidden.backend)},
            "servers: { team: { default: true, members: [{ backend: good" +
                std::string(hidden.member) + " }]" + hidden.server + " } }\n"));
  for (const auto& [name, door] : doors(gateway)) {
    if (name != "modern, as hidden") {
      EXPECT_THAT(door("tools/call", R"({"name":"good_echo","arguments":{"word":"x"}})"),
                  HasSubstr(kMark))
          << name;
      const std::string list = by_rpc(gateway, "/rpc", "tools/list", "{}");
      EXPECT_THAT(list, Not(HasSubstr("secret"))) << list;
    }
    for (const std::string& params : hidden_names()) {
      EXPECT_THAT(door("tools/call", params), Not(HasSubstr(kMark))) << name << ": " << params;
    }
    EXPECT_THAT(door(R"(tools\/call)", hidden_names()[0]), Not(HasSubstr(kMark))) << name;
    EXPECT_THAT(door("tools/c\\u0061ll", hidden_names()[0]), Not(HasSubstr(kMark))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ServersRules,
    testing::Values(
        Hidden{"server", "", "", R"(, rules: [{ allow: ["*"], tools: [good_echo, call_tool] }])"},
        Hidden{"except", "", "", R"(, rules: [{ allow: ["*"], except: [good_secret] }])"},
        Hidden{"member", R"(, rules: [{ allow: ["*"], except: [secret] }])", "", ""},
        Hidden{"selection", "", ", tools: { exclude: [secret] }", ""},
        Hidden{"search", "", "",
               R"(, expose: { search: {} }, rules: [{ allow: ["*"], except: [good_secret] }])"},
        Hidden{"searchmember", R"(, rules: [{ allow: ["*"], except: [secret] }])", "",
               ", expose: { search: {} }"},
        Hidden{"session", "", "", R"(, rules: [{ allow: ["*"], except: [good_secret] }])",
               "session"},
        Hidden{"sessionmember", R"(, rules: [{ allow: ["*"], except: [secret] }])", "", "",
               "session"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ServersRulesOfRoles, AHiddenToolIsNotFound) {
  GatewayProcess gateway(
      serve({backend("good", member_server(), kMember)},
            "servers: { team: { default: true, members: [good], expose: { search: "
            "{} }, rules: [{ allow: [\"*\"], except: [good_secret] }] } }\n"));
  HttpClient client = gateway.connect();
  const auto find = [&](const std::string& words) {
    return call(client, "tools/call",
                R"({"name":"find_tool","arguments":{"query":")" + words + R"(","limit":50}})")
        .body;
  };
  EXPECT_THAT(find("echo"), HasSubstr("good_echo"));
  EXPECT_THAT(find("secret good"), Not(HasSubstr("good_secret")));
}

}  // namespace
}  // namespace stdgate::harness::servers_rules_test
