// What a lock file pins, and what is wrong with one, with its place.
#include "gateway/mcp/tool_lock.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace stdgate::test {
namespace {

using mcp::PinnedKind;
using mcp::ToolLock;

std::string lock_of(const std::string& servers) {
  return R"({"version":1,"servers":)" + servers + "}";
}

TEST(ToolLock, PinsWholeDefinitionsInWhateverSpelling) {
  const auto lock = ToolLock::read(
      lock_of(R"({"a":{"tools":{"r\u0065ad":{"definition":{"name":"read","n":1.0}}}},"b":{}})"),
      "a");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->has(PinnedKind::tool, "read"));
  EXPECT_FALSE(lock->has(PinnedKind::prompt, "read"));
  const std::pair<std::string, PinState> cases[] = {
      {R"({"n":1,"name":"r\u0065ad"})", PinState::pinned},
      {R"({"n":1,"name":"read","more":1})", PinState::changed},
      {R"({"name":"read"})", PinState::changed},
      {R"({"n":1,"n":1,"name":"read"})", PinState::changed},
  };
  for (const auto& [element, state] : cases) {
    EXPECT_EQ(lock->state_of(PinnedKind::tool, "read", element), state) << element;
  }
  EXPECT_EQ(lock->state_of(PinnedKind::tool, "other", "{}"), PinState::fresh);
}

TEST(ToolLock, NoFileAndNoServerPinNothing) {
  for (const std::string& text : {std::string(), lock_of("{}"), lock_of(R"({"b":{}})")}) {
    const auto lock = ToolLock::read(text, "a");
    ASSERT_TRUE(lock) << text;
    EXPECT_TRUE(lock->empty());
  }
}

TEST(ToolLock, WhatIsWrongHasItsPlace) {
  const std::string bad = "it is not as stdgate pin writes it at /servers";
  const std::pair<std::string, std::string> cases[] = {
      {"{", "it is no JSON"},
      {R"({"version":1,"version":1,"servers":{}})", "it has a key twice"},
      {R"({"version":2,"servers":{}})", "it is of no version that is known"},
      {R"({"servers":{}})", "it is of no version that is known"},
      {R"({"version":1})", bad},
      {lock_of("[]"), bad},
      {lock_of(R"({"a":{},"b/c":5})"), bad + "/b~1c"},
      {lock_of(R"({"a":{"tools":{},"things":{}}})"), bad + "/a/things"},
      {lock_of(R"({"a":{"tools":{"x":{"definition":1},"y":{}}}})"), bad + "/a/tools/y"},
  };
  for (const auto& [text, why] : cases) {
    const auto locks = ToolLock::read_all(text);
    ASSERT_FALSE(locks) << text;
    EXPECT_EQ(locks.error(), why) << text;
  }
}

}  // namespace
}  // namespace stdgate::test
