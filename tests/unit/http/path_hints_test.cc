#include "transports/http/path_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const char* meant;  // empty: no path is near
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
      {"/nothing/like/it", ""},
      {"", ""},
      {"/", ""},
      {"//", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(http::path_hints(one.asked, kServed).meant, one.meant) << one.asked;
  }
  EXPECT_THAT(http::path_hints("/x", {}).paths, IsEmpty());
  EXPECT_EQ(http::path_hints("/nobody/rpc", {"/", "/a/rpc", "/rpc", "/rpc/stream"}).meant, "");
  EXPECT_EQ(http::path_hints("/" + std::string(100000, 'a'), kServed).meant, "");
}

TEST(PathHints, PutTheNearestFirstAndKeepAll) {
  EXPECT_THAT(http::path_hints("/fils/rpc", kServed).paths,
              ElementsAre("/files/rpc", "/files/mcp", "/files/rpc/stream", "/files/ws", "/",
                          "/alpha/mcp", "/alpha/rpc", "/github/mcp"));
  EXPECT_EQ(http::path_hints("/unknown", kServed).paths, kServed);
}

}  // namespace
}  // namespace stdgate::test
