// Spans of calls: the real program, real children, and good and bad collectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/web_server.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/otlp_spans.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::traces_test {
namespace {

using test::OtlpSpan;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";
const std::string kParent = "00-" + kTrace + "-" + kSpan + "-01";
constexpr const char* kPath = "/v1/traces";
constexpr const char* kMcp = "protocol: mcp, isolation: shared, pool: { max: 1 }";

std::string meta(const std::string& traceparent) {
  return R"({"_meta":{"traceparent":")" + traceparent + R"(","baggage":"k=v"}})";
}

class Traces : public testing::Test {
 protected:
  Traces() { collector_.answer(kPath, WebServer::json("{}")); }

  static std::string section(const WebServer& collector, const std::string& more = "sample: 1") {
    return "traces: { endpoint: \"" + collector.url() + "\", " + more + " }\n";
  }
  [[nodiscard]] GatewaySetup setup(const std::string& more = "sample: 1") const {
    return serve_one(puppet("mcp"), kMcp, section(collector_, more));
  }
  [[nodiscard]] static std::vector<OtlpSpan> spans(const WebServer& collector) {
    std::vector<OtlpSpan> all;
    for (const std::string& body : collector.bodies(kPath)) {
      for (OtlpSpan& span : test::read_otlp_spans(body)) all.push_back(std::move(span));
    }
    return all;
  }
  [[nodiscard]] std::vector<OtlpSpan> await(size_t count) const {
    eventually(std::to_string(count) + " spans", [&] { return spans(collector_).size() >= count; });
    return spans(collector_);
  }
  static std::vector<OtlpSpan> named(const std::vector<OtlpSpan>& all, std::string_view name) {
    std::vector<OtlpSpan> found;
    for (const OtlpSpan& span : all) {
      if (span.name == name) found.push_back(span);
    }
    return found;
  }
  static double dropped(const GatewayProcess& gateway, const std::string& reason) {
    return gateway.metrics().sum("stdgate_trace_spans_dropped_total", {{"reason", reason}});
  }
  static double exported(const GatewayProcess& gateway) {
    return gateway.metrics().sum("stdgate_trace_spans_exported_total");
  }

  WebServer collector_;
};

TEST_F(Traces, LeadFromTheClientToTheChild) {
  GatewayProcess gateway(setup("sample: 0, service_name: shop"));
  HttpClient client = gateway.connect();
  const HttpResponse response = client.post("/rpc", request("history", "{}", "\"a\""),
                                            {{"traceparent", kParent}, {"tracestate", "v=1"}});
  ASSERT_EQ(response.status, 200);
  const auto all = await(3);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(
      all, Each(AllOf(Field(&OtlpSpan::trace_id, kTrace), Field(&OtlpSpan::trace_state, "v=1"))));
  const OtlpSpan& call = all[0];
  EXPECT_EQ(call.name, "history");
  EXPECT_EQ(call.parent_id, kSpan);
  EXPECT_EQ(call.kind, 2);
  EXPECT_EQ(call.attributes.at("mcp.method.name"), "history");
  EXPECT_EQ(call.attributes.at("rpc.jsonrpc.request_id"), "a");
  EXPECT_EQ(call.attributes.at("stdgate.backend"), "main");
  EXPECT_EQ(call.resource.at("service.name"), "shop");
  EXPECT_EQ(all[1].name, "queue");
  EXPECT_EQ(all[1].parent_id, call.span_id);
  const OtlpSpan& child = all[2];
  EXPECT_EQ(child.name, "child");
  EXPECT_EQ(child.parent_id, call.span_id);
  EXPECT_LE(call.begin, child.begin);
  EXPECT_EQ(all[1].end, child.begin);
  EXPECT_THAT(response.body, AllOf(HasSubstr("00-" + kTrace + "-" + child.span_id + "-01"),
                                   HasSubstr("v=1"), Not(HasSubstr(kSpan))))
      << "what the child has read";
  EXPECT_TRUE(eventually("they are counted", [&] { return exported(gateway) == 3; }));
  const auto lines = log_of(gateway, "call");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].text("/trace_id"), kTrace);
}

TEST_F(Traces, OfSessionsSayTheToolAndHowItFailed) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  const std::string session = open_mcp_session(client);
  const Headers headers = in_mcp_session(session);
  ASSERT_EQ(client
                .post("/mcp",
                      request("tools/call",
                              R"({"name":"fail","arguments":{},"_meta":{"traceparent":")" +
                                  kParent + "\"}}",
                              "2"),
                      headers)
                .status,
            200);
  ASSERT_TRUE(eventually("the tool's span is there", [&] {
    return !named(spans(collector_), "tools/call fail").empty() ||
           !named(spans(collector_), "tools/call _other").empty();
  }));
  const auto found = named(spans(collector_), "tools/call fail");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].trace_id, kTrace);
  EXPECT_EQ(found[0].parent_id, kSpan) << "of params._meta";
  EXPECT_EQ(found[0].attributes.at("gen_ai.tool.name"), "fail");
  EXPECT_EQ(found[0].attributes.at("error.type"), "tool_error");
  EXPECT_EQ(found[0].attributes.at("stdgate.transport"), "mcp");
  EXPECT_EQ(found[0].status, 2);
  for (const std::string& body : collector_.bodies(kPath)) {
    EXPECT_THAT(body, Not(HasSubstr(session))) << "who has it has the session";
  }
}

TEST_F(Traces, HaveACallForEachEntryOfABatch) {
  GatewayProcess gateway(setup("sample: 0"));
  HttpClient client = gateway.connect();
  const std::string other = "00-11111111111111111111111111111111-2222222222222222-01";
  const std::string batch = "[" + request("pid", "{}", "1") + "," + request("no", "{}", "2") + "," +
                            request("pid", meta(other), "3") + "," + request("hm", "", "") + "]";
  ASSERT_EQ(client.post("/rpc", batch, {{"traceparent", kParent}}).status, 200);
  const auto all = await(9);
  ASSERT_EQ(all.size(), 9U) << "the notification has none";
  std::map<std::string, OtlpSpan> calls;
  for (const OtlpSpan& span : all) {
    if (span.kind == 2) calls[span.attributes.at("rpc.jsonrpc.request_id")] = span;
  }
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls["1"].parent_id, kSpan);
  EXPECT_EQ(calls["2"].parent_id, kSpan);
  EXPECT_EQ(calls["2"].attributes.at("error.type"), "error");
  EXPECT_EQ(calls["2"].name, "_other") << "no method of the server's";
  EXPECT_EQ(calls["3"].parent_id, "2222222222222222");
  EXPECT_EQ(calls["3"].trace_id, "11111111111111111111111111111111");
}

TEST_F(Traces, AreKeptAsTheirClientDecided) {
  GatewayProcess gateway(setup("sample: 0"));
  HttpClient client = gateway.connect();
  const std::string unsampled = "00-11111111111111111111111111111111-2222222222222222-00";
  const std::string none = client.post("/rpc", request("history", "{}")).body;
  const std::string declined =
      client.post("/rpc", request("history", "{}"), {{"traceparent", unsampled}}).body;
  EXPECT_THAT(declined, HasSubstr("00-11111111111111111111111111111111-"));
  EXPECT_THAT(none, AllOf(HasSubstr("traceparent"), HasSubstr("-00\\\"")))
      << "nobody behind records what is not recorded here";
  client.post("/rpc", request("pid", "{}"), {{"traceparent", kParent}});
  EXPECT_THAT(await(3), AllOf(SizeIs(3), Each(Field(&OtlpSpan::trace_id, kTrace))));
}

// The first gateway's child passes the trace context on, as a server that calls other servers does.
TEST_F(Traces, GoOnBehindAnotherGateway) {
  GatewayProcess first(setup("sample: 0"));
  GatewayProcess second(setup("sample: 0"));
  HttpClient client = first.connect();
  const JsonValue heard(client.post("/rpc", request("history", meta(kParent))).body);
  const JsonValue line(heard.texts("/result").back());
  HttpClient server = second.connect();
  const std::string told = line.text("/params/_meta/traceparent");
  server.post("/rpc", request("cwd", "{}"), {{"traceparent", told}});
  const auto all = await(6);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_THAT(all, Each(Field(&OtlpSpan::trace_id, kTrace)));
  const auto children = named(all, "child");
  const OtlpSpan here = named(all, "history").at(0);
  const OtlpSpan there = named(all, "cwd").at(0);
  EXPECT_EQ(here.parent_id, kSpan);
  const bool is_first = children.at(0).parent_id == here.span_id;
  EXPECT_EQ(there.parent_id, children.at(is_first ? 0 : 1).span_id);
  EXPECT_NE(here.resource.at("service.instance.id"), there.resource.at("service.instance.id"));
  EXPECT_EQ(line.text("/params/_meta/baggage"), "k=v");
}

// All transports lead to one child, which records what it receives.
TEST_F(Traces, BaggageComesToTheChildByEachDoor) {
  GatewayProcess gateway(setup("sample: 0"));
  HttpClient client = gateway.connect();
  const auto bag = [](const std::string& door, Headers fields) {
    fields["baggage"] = "door=" + door + ";seen , b=%20";
    return fields;
  };
  client.post("/rpc", request("pid", "{}"), bag("rpc", {}));
  const Headers session = in_mcp_session(open_mcp_session(client));
  const std::string tool = R"({"name":"fail","arguments":{})";
  ASSERT_EQ(client.post("/mcp", request("tools/call", tool + "}"), bag("session", session)).status,
            200);
  const std::string stamped = tool +
                              R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                              R"("io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},)"
                              R"("io.modelcontextprotocol/clientCapabilities":{}}})";
  const Headers modern = {{"accept", "application/json, text/event-stream"},
                          {"mcp-protocol-version", "2026-07-28"},
                          {"mcp-method", "tools/call"},
                          {"mcp-name", "fail"}};
  ASSERT_EQ(client.post("/mcp", request("tools/call", stamped), bag("modern", modern)).status, 200);
  WebSocketClient socket(gateway.url(), {.headers = bag("socket", {})});
  socket.call("pid", "{}");
  client.post("/rpc", request("pid", "{}"), {{"baggage", "door=malformed,"}});
  const JsonValue heard(client.post("/rpc", request("history", "{}")).body);
  std::vector<std::string> doors;
  for (const std::string& text : heard.texts("/result")) {
    if (text.find("baggage") == std::string::npos) continue;
    const std::string door = JsonValue(text).text("/params/_meta/baggage");
    doors.push_back(door.substr(0, door.find(';')));
    EXPECT_THAT(door, HasSubstr(";seen , b=%20"));
  }
  EXPECT_THAT(doors, ElementsAre("door=rpc", "door=session", "door=modern", "door=socket"));
}

TEST_F(Traces, AreSentWhenTheGatewayStops) {
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  client.post("/rpc", request("pid", "{}"));
  client.close();
  gateway.signal(SIGTERM);
  EXPECT_EQ(gateway.wait_for_exit()->code, 0);
  EXPECT_THAT(spans(collector_), SizeIs(3));
}

TEST_F(Traces, AreSentWithACredentialOverTls) {
  test::TestAuthority authority;
  const test::TestFolder folder;
  folder.write("ca.pem", authority.certificate());
  folder.write("token", "Bearer hush\n");
  WebServer collector(authority.issue());
  collector.answer(kPath, WebServer::json("{}"));
  GatewayProcess gateway(
      serve_one(puppet("mcp"), kMcp,
                section(collector, "sample: 1, ca: \"" + folder.path("ca.pem") +
                                       "\", headers: { Authorization: { file: \"" +
                                       folder.path("token") + "\" } }")));
  HttpClient client = gateway.connect();
  client.post("/rpc", request("pid", "{}"));
  EXPECT_TRUE(eventually("they come", [&] { return collector.count(kPath) > 0; }));
  EXPECT_THAT(collector.heads(kPath).at(0),
              AllOf(HasSubstr("Authorization: Bearer hush\r\n"),
                    HasSubstr("Content-Type: application/json\r\n"), Not(HasSubstr("Expect:"))));
  EXPECT_THAT(gateway.log(), Not(HasSubstr("hush")));
}

struct BadCollector {
  const char* name;
  std::string answer;  // empty: the collector does not answer
  const char* reason;  // why spans are dropped; empty: they count as sent
};

std::ostream& operator<<(std::ostream& out, const BadCollector& bad) { return out << bad.name; }

class BadCollectors : public Traces, public testing::WithParamInterface<BadCollector> {};

TEST_P(BadCollectors, TouchNoCall) {
  collector_.answer(kPath, GetParam().answer);
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.post("/rpc", request("pid", "{}")).status, 200);
  }
  EXPECT_TRUE(eventually("it is asked", [&] { return collector_.count(kPath) > 0; }));
  const std::string reason = GetParam().reason;
  EXPECT_TRUE(eventually("the spans are gone", [&] {
    return (reason.empty() ? exported(gateway) : dropped(gateway, reason)) == 60;
  }));
  EXPECT_EQ(client.post("/rpc", request("pid", "{}")).status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadCollectors,
    testing::Values(
        BadCollector{"Fails", WebServer::status("500 No"), "refused"},
        BadCollector{"Refuses", WebServer::status("400 No", "", "<html>"), "refused"},
        BadCollector{"Moved", WebServer::status("307 No", "Location: /x\r\n"), "refused"},
        BadCollector{"SaysGarbage", WebServer::json("{]"), ""},
        BadCollector{"SaysNothing", WebServer::status("204 No"), ""},
        BadCollector{"SaysTooMuch", WebServer::json(std::string(1 << 20, 'x')), "refused"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(Traces, OfACollectorThatNeverAnswersEndWithTheGateway) {
  collector_.answer(kPath, "");
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  client.post("/rpc", request("pid", "{}"));
  EXPECT_TRUE(eventually("it is asked", [&] { return collector_.count(kPath) > 0; }));
  EXPECT_EQ(client.post("/rpc", request("pid", "{}")).status, 200);
  client.close();
  gateway.signal(SIGTERM);
  EXPECT_EQ(gateway.wait_for_exit()->code, 0);
}

TEST_F(Traces, AreNotWaitedForAfterASecondSignal) {
  collector_.answer(kPath, "");
  GatewayProcess gateway(setup());
  HttpClient client = gateway.connect();
  client.post("/rpc", request("pid", "{}"));
  client.close();
  gateway.signal(SIGTERM);
  ASSERT_TRUE(eventually("only the spans are waited for",
                         [&] { return gateway.log().find("\"stopped\"") != std::string::npos; }));
  gateway.signal(SIGINT);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(gateway.wait_for_exit()->code, 0) << "all had finished";
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500));
  const std::string log = gateway.log();
  EXPECT_EQ(log.find("\"stopped\""), log.rfind("\"stopped\""));
}

TEST_F(Traces, OfACollectorThatIsDownFillABoundedQueue) {
  collector_.die();
  GatewayProcess gateway(setup("sample: 1, queue: 64"));
  HttpClient client = gateway.connect();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(client.post("/rpc", request("pid", "{}")).status, 200);
  }
  EXPECT_EQ(dropped(gateway, "queue_full"), 27) << "21 calls have found room";
  EXPECT_EQ(gateway.metrics().sum("stdgate_trace_spans_waiting"), 63);
  EXPECT_TRUE(eventually("it is in the log", [&] {
    return gateway.log().find("spans not sent") != std::string::npos;
  }));
}

TEST_F(Traces, AreNotThereUnlessTheyAreAskedFor) {
  GatewayProcess gateway(serve_one(puppet("mcp"), kMcp));
  HttpClient client = gateway.connect();
  const std::string heard =
      client.post("/rpc", request("history", "{}"), {{"traceparent", kParent}}).body;
  EXPECT_THAT(heard, Not(HasSubstr("traceparent")));
  EXPECT_EQ(gateway.metrics().series("stdgate_trace_spans_exported_total"), 0U);
}

TEST(TracesCheck, WarnsOfHeadersThatOthersCanRead) {
  const TemporaryFolder folder;
  folder.write("token", "hush\n");
  const std::string token = folder.path() / "token";
  const auto warnings = [&](const std::string& endpoint, const std::string& headers) {
    folder.write("gateway.yaml", "traces: { endpoint: \"" + endpoint + "\", headers: " + headers +
                                     " }\nbackends: { a: { command: [cat] } }\n");
    const ProgramRun run = run_stdgate(folder, {"check"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("  endpoint: \"" + endpoint + "/v1/traces\"\n"),
                               Not(HasSubstr("hush"))));
    return run.err;
  };
  const std::string file = "{ A: { file: \"" + token + "\" } }";
  std::filesystem::permissions(token, std::filesystem::perms(0644));
  EXPECT_THAT(warnings("https://c", file),
              AllOf(HasSubstr("every user can read the value of A in " + token),
                    Not(HasSubstr("without TLS"))));
  std::filesystem::permissions(token, std::filesystem::perms(0600));
  EXPECT_EQ(warnings("https://c", file).find("every user"), std::string::npos);
  EXPECT_THAT(warnings("http://c", "{ A: hush }"), HasSubstr("without TLS"));
  EXPECT_THAT(warnings("http://127.0.0.1:4318", "{ A: hush }"), Not(HasSubstr("without TLS")));
  EXPECT_THAT(warnings("http://c", "{}"), Not(HasSubstr("without TLS")));
}

}  // namespace
}  // namespace stdgate::harness::traces_test
