#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/call/splice.h"
#include "gateway/mcp/era_bridge.h"
#include "tests/support/parsed_text.h"

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

// As a child of this era gets it; whether its _meta is remembered or not.
std::string sent(const std::string& text, PeerKind peer_kind = PeerKind::stateful) {
  const ParsedText parsed(text);
  mcp::MetaMemory memory;
  const std::string written = sent_with(memory, parsed, peer_kind);
  mcp::read_params(parsed.envelope.params, memory);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(sent_with(memory, parsed, peer_kind), written);
  }
  // Another one in between, which loses something else.
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
