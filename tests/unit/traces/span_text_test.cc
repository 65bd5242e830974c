#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/traces/trace_exporter.h"
#include "tests/support/otlp_spans.h"

namespace stdgate::traces {
namespace {

using test::OtlpSpan;
using testing::Pair;
using testing::UnorderedElementsAre;

class SpanText : public testing::Test {
 protected:
  SpanText() {
    EXPECT_TRUE(trace_.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    call_.method = 1;
    call_.method_name = "tools/call";
    call_.tool = 1;
    call_.tool_name = "add";
    call_.transport = Transport::mcp;
    call_.arrived_at = WallTime(std::chrono::seconds(1'700'000'000));
    call_.total = std::chrono::milliseconds(30);
    call_.queued = std::chrono::milliseconds(10);
    call_.child = std::chrono::milliseconds(20);
    call_.reached_child = true;
    call_.id = R"("a\"b")";
    call_.trace = &trace_;
    call_.span = 0xabc;
  }

  // The document of one call.
  [[nodiscard]] std::string text(bool is_mcp = true) const {
    std::string out = document_head({"shop", "1.2", "gate-0"});
    append_spans(out, call_, {"calc", is_mcp, 1, 2});
    return out + "]}]}]}";
  }
  [[nodiscard]] std::vector<OtlpSpan> spans(bool is_mcp = true) const {
    return test::read_otlp_spans(text(is_mcp));
  }

  TraceContext trace_;
  CallRecord call_;
};

TEST_F(SpanText, IsTheseBytes) {
  call_.reached_child = false;
  call_.tool.reset();
  call_.id = "7";
  call_.outcome = Outcome::of(rpc::Fault::timeout);
  call_.detail = "no answer";
  EXPECT_EQ(
      text(),
      R"({"resourceSpans":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"shop"}},)"
      R"({"key":"service.version","value":{"stringValue":"1.2"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"gate-0"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"stdgate","version":"1.2"},"spans":[)"
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"0000000000000001",)"
      R"("parentSpanId":"00f067aa0ba902b7","flags":769,"kind":2,)"
      R"("startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000030000000",)"
      R"("name":"tools/call","attributes":[)"
      R"({"key":"rpc.system","value":{"stringValue":"jsonrpc"}},)"
      R"({"key":"mcp.method.name","value":{"stringValue":"tools/call"}},)"
      R"({"key":"stdgate.backend","value":{"stringValue":"calc"}},)"
      R"({"key":"rpc.jsonrpc.request_id","value":{"stringValue":"7"}},)"
      R"({"key":"jsonrpc.request.id","value":{"stringValue":"7"}},)"
      R"({"key":"rpc.jsonrpc.version","value":{"stringValue":"2.0"}},)"
      R"({"key":"stdgate.transport","value":{"stringValue":"mcp"}},)"
      R"({"key":"stdgate.outcome","value":{"stringValue":"timeout"}},)"
      R"({"key":"error.type","value":{"stringValue":"timeout"}}],)"
      R"("status":{"code":2,"message":"no answer"}},)"
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"0000000000000002",)"
      R"("parentSpanId":"0000000000000001","flags":257,"kind":1,)"
      R"("startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000010000000",)"
      R"("name":"queue","attributes":[{"key":"stdgate.backend","value":{"stringValue":"calc"}}]})"
      R"(]}]}]})");
}

TEST_F(SpanText, AreACallItsWaitAndItsTimeAtAChild) {
  const auto found = spans();
  ASSERT_EQ(found.size(), span_count(call_));
  const OtlpSpan& call = found[0];
  EXPECT_EQ(call.name, "tools/call add");
  EXPECT_EQ(call.kind, 2);
  EXPECT_EQ(call.parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(call.status, 0);
  EXPECT_THAT(call.attributes,
              UnorderedElementsAre(
                  Pair("rpc.system", "jsonrpc"), Pair("mcp.method.name", "tools/call"),
                  Pair("gen_ai.operation.name", "execute_tool"), Pair("gen_ai.tool.name", "add"),
                  Pair("stdgate.backend", "calc"), Pair("rpc.jsonrpc.request_id", "a\"b"),
                  Pair("jsonrpc.request.id", "a\"b"), Pair("rpc.jsonrpc.version", "2.0"),
                  Pair("stdgate.transport", "mcp"), Pair("stdgate.outcome", "ok")));
  EXPECT_THAT(call.resource, testing::Contains(Pair("service.name", "shop")));
  const OtlpSpan& queue = found[1];
  EXPECT_EQ(queue.name, "queue");
  EXPECT_EQ(queue.parent_id, call.span_id);
  EXPECT_EQ(queue.begin, call.begin);
  const OtlpSpan& child = found[2];
  EXPECT_EQ(child.name, "child");
  EXPECT_EQ(child.kind, 3);
  EXPECT_EQ(child.parent_id, call.span_id);
  EXPECT_EQ(child.span_id, "0000000000000abc") << "the one that the child was told";
  EXPECT_EQ(child.begin, queue.end);
  EXPECT_EQ(child.end, call.end);
}

TEST_F(SpanText, HaveNoParentWhereTheTraceBegins) {
  trace_.parent_id = TraceContext::kNoSpan;
  EXPECT_EQ(spans()[0].parent_id, "");
  EXPECT_EQ(spans()[0].flags, 0x101U);
}

TEST_F(SpanText, SayWhichMethodOfWhichProtocol) {
  EXPECT_EQ(spans(false)[0].attributes.at("rpc.method"), "tools/call");
  EXPECT_FALSE(spans(false)[0].attributes.contains("mcp.method.name"));
}

TEST_F(SpanText, SayWhichRevisionTheClientSpeaks) {
  call_.revision = "2026-07-28";
  EXPECT_EQ(spans()[0].attributes.at("mcp.protocol.version"), "2026-07-28");
  EXPECT_FALSE(spans()[2].attributes.contains("mcp.protocol.version")) << "the child's may differ";
}

TEST_F(SpanText, SayHowCallsFail) {
  struct Case {
    Outcome outcome;
    int64_t status;
    std::string_view type;
  };
  const Case cases[] = {{Outcome::error(), 2, "error"},
                        {Outcome::tool_error(), 2, "tool_error"},
                        {Outcome::cancelled(), 0, ""},
                        {Outcome::of(rpc::Fault::child_failed), 2, "child_failed"}};
  for (const Case& test : cases) {
    call_.outcome = test.outcome;
    for (const OtlpSpan& span : spans()) {
      if (span.name == "queue") continue;
      EXPECT_EQ(span.status, test.status) << test.outcome.name();
      const auto type = span.attributes.find("error.type");
      EXPECT_EQ(type == span.attributes.end() ? "" : type->second, test.type);
    }
  }
}

// A client can send any method name.
TEST_F(SpanText, AreBoundedAndWellFormedWhateverTheirClientWrites) {
  const std::string long_name(100'000, 'x');
  const std::string odd = "\"\\\n\xff\x1b[2J" + long_name;
  call_.method = kOtherMethod;
  call_.method_name = odd;
  call_.tool = kOtherTool;
  call_.tool_name = odd;
  const std::string id = '"' + long_name + '"';
  call_.id = id;
  call_.detail = odd;
  call_.outcome = Outcome::error();
  EXPECT_LT(text().size(), 16384U);
  EXPECT_EQ(spans()[0].name, "_other _other");
  EXPECT_EQ(spans()[0].attributes.at("rpc.jsonrpc.request_id").size(), kMaxText);
  call_.id = "";  // an unreadable request
  call_.method_name = "";
  EXPECT_FALSE(spans()[0].attributes.contains("rpc.jsonrpc.request_id"));
}

TEST_F(SpanText, KeepTheTraceState) {
  trace_.add_state("a=1,b=\"2\"");
  for (const OtlpSpan& span : spans()) EXPECT_EQ(span.trace_state, "a=1,b=\"2\"");
}

}  // namespace
}  // namespace stdgate::traces
