#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/http/router.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string_view> kServed = {"/",          "/alpha/mcp", "/alpha/rpc",
                                               "/files/mcp", "/files/rpc", "/files/rpc/stream",
                                               "/files/ws",  "/github/mcp"};

TEST(PathHints, NameThePathThatWasProbablyMeant) {
  struct Case {
    const char* asked;
    const char* meant;  // empty: no path is similar
  };
  const Case cases[] = {
      {"/fils/mcp", "/files/mcp"},
      {"/file/rpc/stream", "/files/rpc/stream"},
      {"/files/mpc", "/files/mcp"},
      {"/files/rpcs", "/files/rpc"},
      {"/files/websocket", "/files/mcp"},
      {"/files", "/files/mcp"},
      {"/Files/mcp", "/files/mcp"},
      {"/github/rpc", "/github/mcp"},
      {"/mcp/files", "/files/mcp"},
      {"/v1/github/mcp", "/github/mcp"},
      {"/GITHUB/MCP", "/github/mcp"},
      {"/v1/mcp", ""},
      {"/nothing/like/it", ""},
      {"", ""},
      {"/", ""},
      {"//", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(http::path_hints(one.asked, kServed).meant, one.meant) << one.asked;
  }
  EXPECT_THAT(http::path_hints("/x", {}).paths, IsEmpty());
  EXPECT_EQ(http::path_hints("/" + std::string(100000, 'a'), kServed).meant, "");
}

TEST(PathHints, NameThePathAtTheRoot) {
  const std::vector<std::string_view> one = {"/",          "/.well-known/oauth-protected-resource",
                                             "/main/mcp",  "/main/rpc",
                                             "/mcp",       "/rpc",
                                             "/rpc/stream"};
  std::vector<std::string_view> several = one;
  several.emplace_back("/other/mcp");
  for (const char* asked : {"/MCP", "/v1/mcp", "/api/mcp/", "/everything/mcp", "/a/b/mcp"}) {
    EXPECT_EQ(http::path_hints(asked, one).meant, "/mcp") << asked;
    EXPECT_EQ(http::path_hints(asked, one).paths.front(), "/mcp") << asked;
  }
  EXPECT_EQ(http::path_hints("/nobody/rpc/stream", one).meant, "/rpc/stream");
  EXPECT_EQ(http::path_hints("/v2.1/mcp", several).meant, "/mcp");
  EXPECT_EQ(http::path_hints("/everything/mcp", several).meant, "") << "one of the others is meant";
  EXPECT_EQ(http::path_hints("/v1/" + std::string(8000, '/') + "mcp", one).meant, "");
}

TEST(PathHints, SayWhatABackendSpeaks) {
  const std::vector<std::string_view> paths = {
      "/",          "/calc/rpc", "/calc/rpc/stream", "/calc/ws", "/code/ws", "/gemini/acp",
      "/gemini/ws", "/rpc",      "/rpc/stream",      "/ws"};
  EXPECT_EQ(http::path_hints("/mcp", paths).why,
            "this backend speaks plain JSON-RPC (protocol: jsonrpc), not MCP, at /rpc and /ws");
  EXPECT_EQ(http::path_hints("/calc/sse", paths).why,
            "this backend speaks plain JSON-RPC (protocol: jsonrpc), not MCP, at /calc/rpc and "
            "/calc/ws");
  EXPECT_EQ(http::path_hints("/code/mcp", paths).why,
            "this backend is a language server (protocol: lsp), at /code/ws");
  EXPECT_EQ(http::path_hints("/gemini/mcp", paths).why,
            "this backend is an agent (protocol: acp), at /gemini/acp");
  for (const char* asked : {"/none/mcp", "/calc/mpc", "/x/y/mcp", "/"}) {
    EXPECT_EQ(http::path_hints(asked, paths).why, "") << asked;
  }
}

TEST(PathHints, PutTheNearestFirstAndKeepAll) {
  EXPECT_THAT(http::path_hints("/fils/rpc", kServed).paths,
              ElementsAre("/files/rpc", "/files/mcp", "/files/rpc/stream", "/files/ws", "/",
                          "/alpha/mcp", "/alpha/rpc", "/github/mcp"));
  EXPECT_EQ(http::path_hints("/unknown", kServed).paths, kServed);
}

}  // namespace
}  // namespace stdgate::test
