// How a program ends whose first message, `initialize`, is answered with an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "gateway/remote/acp_remote.h"
#include "gateway/remote/streamable_remote.h"
#include "tests/support/fake_web.h"

namespace stdgate::remote {
namespace {

constexpr const char* kFirstMessage =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";

std::string refusal_of(int code) {
  return R"({"jsonrpc":"2.0","id":0,"error":{"code":)" + std::to_string(code) +
         R"(,"message":"the child exited with code 1"}})";
}

TEST(FailedGreeting, OfMcp) {
  struct Case {
    const char* name;
    int status;
    int code;
    std::optional<Exit> left;
  };
  const Case cases[] = {
      {"the child failed", 200, -31502, Exit::unreachable},
      {"no time", 200, -31504, Exit::unreachable},
      {"no place now", 200, -31503, std::nullopt},
      {"no place now, by status", 503, -31503, std::nullopt},
      {"another gateway", 502, -32000, std::nullopt},
      {"the server's own error", 200, -32602, std::nullopt},
      {"the server's own error, by status", 400, -32602, std::nullopt},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    test::RemoteWorld world;
    StreamableRemote remote("http://x.example/a/mcp", world.services(), nullptr);
    remote.take(*test::RemoteWorld::message(kFirstMessage));
    world.web.last().answer(one.status, "application/json", refusal_of(one.code));
    EXPECT_EQ(world.left, one.left);
    EXPECT_THAT(world.told, testing::ElementsAre(refusal_of(one.code)));
    ASSERT_EQ(world.lines.size(), one.left ? 1U : 0U);
    if (!one.left) continue;
    EXPECT_THAT(world.lines[0], testing::EndsWith(": the child exited with code 1"));
    EXPECT_THAT(world.lines[0], testing::StartsWith("http://x.example/a/mcp "));
  }
}

// A client whose server refuses a revision may name another one.
TEST(FailedGreeting, ThatTheServerItselfRefusedMayBeRepeated) {
  test::RemoteWorld world;
  StreamableRemote remote("http://x.example/a/mcp", world.services(), nullptr);
  for (size_t i = 1; i <= 2; ++i) {
    remote.take(*test::RemoteWorld::message(kFirstMessage));
    world.web.last().answer(200, "application/json", refusal_of(-32602));
    EXPECT_EQ(world.told.size(), i);
  }
  EXPECT_FALSE(world.left);
}

TEST(FailedGreeting, OfAnAgent) {
  test::RemoteWorld world;
  AcpRemote remote("http://x.example/a/acp", world.services());
  remote.take(*test::RemoteWorld::message(kFirstMessage));
  world.web.last().answer(200, "application/json", refusal_of(-32004));
  EXPECT_EQ(world.left, Exit::unreachable);
  const std::string why = "http://x.example/a/acp does not begin: the child exited with code 1";
  EXPECT_THAT(world.told, testing::ElementsAre(testing::HasSubstr(why)));
  EXPECT_THAT(world.lines, testing::ElementsAre(why));
}

}  // namespace
}  // namespace stdgate::remote
