#include "gateway/mcp/modern_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/call/splice.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/rpc/envelope.h"
#include "tests/support/rpc_texts.h"

namespace stdgate {

namespace {

constexpr std::string_view kVersion = "2026-07-28";

std::string with_meta(const std::string& meta, const std::string& more = "") {
  return R"({"_meta":)" + meta + more + "}";
}

const std::string& good_meta() {
  static const std::string kMeta = R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                   R"("io.modelcontextprotocol/clientCapabilities":{}})";
  return kMeta;
}

struct Head {
  mcp::ModernHeader version{kVersion};
  mcp::ModernHeader method{"m"};
  mcp::ModernHeader name{};
};

// Status and code of the problem, such as "400 -32020", or "ok".
std::string judged_request(const std::string& method, const std::string& params,
                           const Head& head = {}) {
  std::string text = R"({"jsonrpc":"2.0","id":1,"method":")" + method + '"';
  if (!params.empty()) text += R"(,"params":)" + params;
  text += '}';
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const auto document = parser.parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  static mcp::MetaMemory memory;  // one memory for all requests, as for one client
  const rpc::Envelope& request = document->messages[0].envelope;
  const mcp::McpParams read = mcp::read_params(request.params, memory);
  const auto problem = mcp::check_modern(request, read, {head.version, head.method, head.name});
  if (!problem) return "ok";
  const size_t code = problem->error.find(':') + 1;
  return std::to_string(problem->status) + " " +
         problem->error.substr(code, problem->error.find(',') - code);
}

TEST(ModernRequest, MetaIsChecked) {
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
  const std::string capabilities = R"("io.modelcontextprotocol/clientCapabilities":{})";
  const std::string both = version + "," + capabilities;
  const auto meta = [](const std::string& members) { return with_meta("{" + members + "}"); };
  const std::pair<std::string, std::string> cases[] = {
      {with_meta(good_meta()), "ok"},
      {"", "400 -32602"},
      {"{}", "400 -32602"},
      {"[]", "400 -32602"},
      {with_meta("1"), "400 -32602"},
      {meta(capabilities), "400 -32602"},
      {meta(version), "400 -32602"},
      {meta(R"("io.modelcontextprotocol/protocolVersion":1,)" + capabilities), "400 -32602"},
      {meta(version + R"(,"io.modelcontextprotocol/clientCapabilities":[])"), "400 -32602"},
      {meta(both + "," + version), "400 -32602"},
      {meta(both + "," + capabilities), "400 -32602"},
      {meta(both + R"(,"io.modelcontextprotocol/clientInfo":{"name":"a"})"), "ok"},
      {meta(both + R"(,"io.modelcontextprotocol/clientInfo":"a")"), "400 -32602"},
      {meta(both + R"(,"io.modelcontextprotocol/logLevel":"info")"), "ok"},
      {meta(both + R"(,"io.modelcontextprotocol/logLevel":"loud")"), "400 -32602"},
      {meta(both + R"(,"io.modelcontextprotocol/logLevel":3)"), "400 -32602"},
      {with_meta(good_meta(), R"(,"_meta":{})"), "400 -32602"},
  };
  for (const auto& [params, expected] : cases)
    EXPECT_EQ(judged_request("m", params), expected) << params;
}

TEST(ModernRequest, TheVersionIsServed) {
  for (const char* version : {"2025-11-25", "2027-01-01", "x"}) {
    const std::string meta = R"({"io.modelcontextprotocol/protocolVersion":")" +
                             std::string(version) +
                             R"(","io.modelcontextprotocol/clientCapabilities":{}})";
    EXPECT_EQ(judged_request("m", with_meta(meta), {.version = {version}}), "400 -32022")
        << version;
    EXPECT_EQ(judged_request("m", with_meta(meta)), "400 -32020") << version;
  }
}

TEST(ModernRequest, TheHeadSaysWhatTheBodySays) {
  const std::string params = with_meta(good_meta());
  EXPECT_EQ(judged_request("m", params, {.version = {}}), "400 -32020");
  EXPECT_EQ(judged_request("m", params, {.version = {"2025-11-25"}}), "400 -32020");
  EXPECT_EQ(judged_request("m", params, {.version = {kVersion, true}}), "400 -32020");
  EXPECT_EQ(judged_request("m", params, {.method = {}}), "400 -32020");
  EXPECT_EQ(judged_request("m", params, {.method = {"M"}}), "400 -32020");
  EXPECT_EQ(judged_request("m", params, {.method = {"m", true}}), "400 -32020");
  EXPECT_EQ(judged_request("\\u006d", params), "ok") << "the method is compared decoded";
  EXPECT_EQ(judged_request("m", params, {.name = {"whatever"}}), "ok") << "nothing is named";
}

TEST(ModernRequest, TheNameIsTheBodys) {
  struct Case {
    std::string method;
    std::string member;
    std::optional<std::string_view> name;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"tools/call", R"("name":"t")", "t", "ok"},
      {"tools/call", R"("name":"t")", "T", "400 -32020"},
      {"tools/call", R"("name":"t")", std::nullopt, "400 -32020"},
      {"tools/call", R"("name":"t")", "=?base64?dA==?=", "ok"},
      {"tools/call", R"("name":"t")", "=?base64?dA?=", "400 -32020"},
      {"tools/call", R"("name":"t")", "=?base64?d!==?=", "400 -32020"},
      {"tools/call", R"("name":"=?base64?dA==?=")", "=?base64?PT9iYXNlNjQ/ZEE9PT89?=", "ok"},
      {"tools/call", R"("name":"\u00e9")", "=?base64?w6k=?=", "ok"},
      {"tools/call", R"("name":"é")", "\xc3\xa9", "400 -32020"},
      {"tools/call", R"("name":1)", "1", "400 -32602"},
      {"tools/call", R"("name":"t","name":"t")", "t", "400 -32602"},
      {"prompts/get", R"("name":"p")", "p", "ok"},
      {"prompts/get", R"("name":"p")", "q", "400 -32020"},
      {"resources/read", R"("uri":"a:b")", "a:b", "ok"},
      {"resources/read", R"("uri":"a:b")", "a:c", "400 -32020"},
      {"tasks/get", R"("taskId":"1")", "1", "ok"},
      {"tasks/get", R"("taskId":"1")", std::nullopt, "400 -32020"},
      {"tools/list", R"("name":"t")", std::nullopt, "ok"},
  };
  for (const auto& [method, member, name, expected] : cases) {
    Head head;
    head.method = {std::string_view(method)};
    head.name = {name};
    EXPECT_EQ(judged_request(method, with_meta(good_meta(), "," + member), head), expected)
        << method << member << name.value_or("-");
  }
}

TEST(ModernRequest, WithoutHeadersTheBodyIsJudgedAlone) {
  const auto judge = [](std::string_view method, const std::string& params) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":")";
    text.append(method).append(R"(","params":)").append(params).append("}");
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const auto document = parser.parse(text);
    EXPECT_TRUE(document.has_value()) << text;
    mcp::MetaMemory memory;
    const rpc::Envelope& request = document->messages[0].envelope;
    const auto problem = mcp::check_modern(request, mcp::read_params(request.params, memory));
    return std::pair(mcp::has_modern(*document), problem ? problem->status : 200);
  };
  EXPECT_EQ(judge("m", with_meta(good_meta())), std::pair(true, 200));
  EXPECT_EQ(judge("m", "{}"), std::pair(false, 400));
  EXPECT_EQ(judge("ping", with_meta(good_meta())), std::pair(true, 404));
  EXPECT_EQ(judge("tools/call", with_meta(good_meta(), R"(,"name":"a")")), std::pair(true, 200));
  EXPECT_EQ(judge("tools/call", with_meta(good_meta())), std::pair(true, 400));
}

TEST(ModernRequest, MethodsThatAreGoneAreNotPassedOn) {
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "tasks/list", "tasks/result"}) {
    EXPECT_EQ(judged_request(method, with_meta(good_meta()), {.method = {method}}), "404 -32601")
        << method;
  }
}

TEST(ModernRequest, ErrorsHaveTheirStatus) {
  const std::pair<int, int> cases[] = {{-32601, 404}, {-32020, 400}, {-32021, 400},
                                       {-32022, 400}, {-32019, 200}, {-32023, 200},
                                       {-32602, 200}, {-32603, 200}, {1, 200}};
  for (const auto& [code, status] : cases) EXPECT_EQ(mcp::modern_status(code), status) << code;
}

TEST(ModernRequest, HeadersAreDecoded) {
  using Text = std::optional<std::string>;
  const std::pair<std::string, Text> cases[] = {
      {"a b", "a b"},
      {"", ""},
      {"=?base64?"
       "?=",
       ""},
      {"=?base64?YQ==?=", "a"},
      {"=?base64?YWI=?=", "ab"},
      {"=?base64?YWJj?=", "abc"},
      {"=?base64?YQ=?=", std::nullopt},
      {"=?base64?YQ===?=", std::nullopt},
      {"=?base64?Y===?=", std::nullopt},
      {"=?base64?YQ==", "=?base64?YQ=="},
      {"=?BASE64?YQ==?=", "=?BASE64?YQ==?="},
      {"=?base64?=", "=?base64?="},
      {"a\x01", std::nullopt},
      {"a\xff", std::nullopt},
      {"a\tb", "a\tb"},
  };
  std::string scratch;
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(mcp::decode_header(value, scratch), text) << value;
  }
}

}  // namespace

}  // namespace stdgate

namespace stdgate::test {

namespace {

const std::string kVersion = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
const std::string kInfo = R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"})";
const std::string kCapabilities = R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}})";
const std::string kLevel = R"("io.modelcontextprotocol/logLevel":"debug")";
const std::string kTask = R"("io.modelcontextprotocol/related-task":{"taskId":"1"})";

std::string call_with(const std::string& params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + params + "}";
}

std::string sent_with(mcp::MetaMemory& memory, const ParsedText& parsed, PeerKind peer_kind) {
  const call::PeerChanges changes = mcp::modern_members(parsed.envelope, memory);
  call::Outgoing message;
  message.text = parsed.envelope.text;
  message.inserted = changes.view();
  call::Splice splice(message, std::nullopt, peer_kind);
  std::string written;
  for (const std::string_view part : splice.framed("", "")) written += part;
  return written;
}

// The message as a child of this era receives it. The result must not depend on whether the _meta
// is remembered.
std::string sent(const std::string& text, PeerKind peer_kind = PeerKind::stateful) {
  const ParsedText parsed(text);
  mcp::MetaMemory memory;
  const std::string written = sent_with(memory, parsed, peer_kind);
  mcp::read_params(parsed.envelope.params, memory);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(sent_with(memory, parsed, peer_kind), written);
  }
  // Another request in between, which loses other members.
  const ParsedText other(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"a":1,)" +
                         kVersion + "}}}");
  mcp::read_params(other.envelope.params, memory);
  mcp::MetaMemory none;
  EXPECT_EQ(sent_with(memory, other, peer_kind), sent_with(none, other, peer_kind));
  EXPECT_EQ(sent_with(memory, parsed, peer_kind), written);
  return written;
}

TEST(ModernMembers, AreNotForALegacyChild) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{" + kVersion + "}", "{}"},
      {"{ " + kVersion + " , " + kInfo + "," + kCapabilities + "," + kLevel + " }", "{  }"},
      {R"({"progressToken":1,)" + kVersion + "," + kInfo + "}", R"({"progressToken":1})"},
      {"{" + kVersion + "," + kInfo + R"(, "progressToken":1})", R"({"progressToken":1})"},
      {R"({"a":1 , )" + kVersion + R"( , "b":2})", R"({"a":1 , "b":2})"},
      {"{" + kVersion + R"(,"a":1,)" + kInfo + R"(,"b":2,)" + kCapabilities + R"(,"c":3,)" +
           kLevel + "}",
       R"({"a":1,"b":2,"c":3})"},
      {R"({"a":1,)" + kVersion + R"(,"b":{},)" + kInfo + R"(,"c":[],)" + kCapabilities +
           R"(,"d":"",)" + kLevel + R"(,"e":null})",
       R"({"a":1,"b":{},"c":[],"d":"","e":null})"},
      {R"({"\u0069o.modelcontextprotocol/logLevel":"info","x":1})", R"({"x":1})"},
      {"{" + kTask + "," + kVersion + "}", "{" + kTask + "}"},
      {R"({"a":{)" + kVersion + "}}", R"({"a":{)" + kVersion + "}}"},
      {R"({"long":")" + std::string(mcp::MetaMemory::kMaxText, 'x') + R"(",)" + kVersion + "}",
       R"({"long":")" + std::string(mcp::MetaMemory::kMaxText, 'x') + R"("})"},
      {"{}", "{}"},
      {"[" + std::string("1]"), "[1]"},
  };
  for (const auto& [meta, expected] : cases) {
    const std::string text = call_with(R"({"name":"t","_meta":)" + meta + R"(,"z":1})");
    EXPECT_EQ(sent(text), call_with(R"({"name":"t","_meta":)" + expected + R"(,"z":1})"));
    EXPECT_EQ(sent(text, PeerKind::stateless), text);
  }
}

TEST(ModernMembers, AreSoughtInMetaAlone) {
  for (const std::string& params : {std::string("[]"), std::string("{}"), "{" + kVersion + "}"}) {
    EXPECT_EQ(sent(call_with(params)), call_with(params));
  }
  const std::string bare = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(sent(bare), bare);
}

}  // namespace

}  // namespace stdgate::test
