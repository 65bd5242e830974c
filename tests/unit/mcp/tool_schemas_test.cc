#include "gateway/mcp/tool_schemas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/mcp/tool_lock.h"
#include "tests/support/manual_clock.h"

namespace stdgate::mcp {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kBound = size_t{1} << 20;

// A schema of this size, which differs for each `id`.
std::string schema_text(const std::string& id, size_t size = 0) {
  const std::string head = R"({"$id":"http://x/)" + id + R"(","description":")";
  const std::string tail = R"(","type":"object"})";
  const size_t both = head.size() + tail.size();
  return head + std::string(size > both ? size - both : 0, 'x') + tail;
}

// Of all schemas, patterns take most memory for their text.
std::string with_patterns(const std::string& id, size_t count) {
  std::string patterns;
  for (size_t i = 0; i < count; ++i) {
    patterns.append(patterns.empty() ? "\"" : ",\"").append(id + std::to_string(i)).append("\":{}");
  }
  return R"({"patternProperties":{)" + patterns + "}}";
}

class Schemas : public testing::Test {
 public:
  SchemaRef keep(const std::string& text) { return schemas->keep(text, "t"); }
  [[nodiscard]] size_t held() const { return bytes.total(); }
  ToolSchemasRef make(const Payer& payer) {
    return std::make_shared<ToolSchemas>(
        payer, clock, [this](std::string_view tool, std::string_view why) {
          told.emplace_back(std::string(tool) + ": " + std::string(why));
        });
  }

  Account gateway{size_t{1} << 30};
  // One schema may take only a part of the account.
  Account account{gateway, kBound* ToolSchemas::kPartOfAccount};
  HeldBytes bytes;
  test::ManualClock clock;
  std::vector<std::string> told;
  ToolSchemasRef schemas = make({&account, &bytes});
};

TEST_F(Schemas, ATextIsKeptAndChargedOnce) {
  const SchemaRef one = keep(schema_text("a"));
  const size_t of_one = held();
  EXPECT_GE(of_one, schema_text("a").size() + sizeof(ToolSchemas::Schema));
  EXPECT_EQ(keep(schema_text("a")), one);
  EXPECT_EQ(held(), of_one);
  EXPECT_NE(keep(schema_text("b")), one);
  EXPECT_EQ(held(), of_one) << "nobody uses the other one";
  EXPECT_EQ(account.used(), of_one);
}

TEST_F(Schemas, ACompiledOneIsChargedUntilItsLastUserHasGone) {
  SchemaRef one = keep(schema_text("a"));
  const size_t before = held();
  ASSERT_NE(schemas->compiled(*one, "t"), nullptr);
  EXPECT_GE(held(), before + schema_text("a").size());
  schemas.reset();
  EXPECT_GT(held(), before);
  one.reset();
  EXPECT_EQ(held(), 0U);
}

TEST_F(Schemas, BeyondTheRoomASchemaIsNotKept) {
  SchemaRef small = keep(schema_text("a", 1000));
  const size_t of_schema = held() - 1000;
  small.reset();
  SchemaRef all = keep(schema_text("b", kBound - of_schema));
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(held(), kBound);
  EXPECT_EQ(keep(schema_text("c")), nullptr);
  EXPECT_EQ(keep(schema_text("d")), nullptr);
  EXPECT_THAT(told, ElementsAre("t: there is no room for it", "t: "));
  all.reset();
  EXPECT_EQ(keep(schema_text("b", kBound - of_schema + 1)), nullptr);
  EXPECT_NE(keep(schema_text("c")), nullptr);
}

TEST_F(Schemas, TheirOwnBoundHoldsWhereTheAccountIsLarge) {
  const auto alone = make({&gateway, &bytes});
  const size_t most = ToolSchemas::kMaxText;
  const size_t half = most / 2 - sizeof(ToolSchemas::Schema) - 128;
  const SchemaRef one = alone->keep(schema_text("a", half), "t");
  SchemaRef other = alone->keep(schema_text("b", half), "t");
  EXPECT_EQ(held(), most);
  other.reset();
  EXPECT_EQ(alone->keep(schema_text("b", half + 1), "t"), nullptr);
}

// A compiled schema that was dropped is compiled again when it is needed.
TEST_F(Schemas, ThoseNotUsedForLongestMakeRoomForCompiledOnes) {
  std::vector<SchemaRef> all;
  for (const std::string id : {"a", "b", "c"}) all.push_back(keep(with_patterns(id, 3)));
  const size_t texts = held();
  const auto compiled = [this](const SchemaRef& one) {
    const schema::JsonSchema* const found = schemas->compiled(*one, "t");
    return found == nullptr ? nullptr : &found->compiled();
  };
  const auto* const first = compiled(all[0]);
  compiled(all[1]);
  const size_t with_two = held();
  EXPECT_LE(with_two - texts, kBound);
  EXPECT_EQ(compiled(all[0]), first);
  EXPECT_NE(compiled(all[2]), nullptr);
  EXPECT_EQ(held(), with_two);
  EXPECT_EQ(compiled(all[0]), first) << "it has been used since the second one";
  EXPECT_NE(compiled(all[1]), nullptr);
  EXPECT_EQ(held(), with_two);
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Schemas, OneThatIsTooLargeAloneChecksNothing) {
  const SchemaRef one = keep(with_patterns("a", 2 * kBound / schema::TextPattern::kMaxMemory));
  const size_t text = held();
  EXPECT_EQ(schemas->compiled(*one, "t"), nullptr);
  EXPECT_EQ(schemas->compiled(*one, "t"), nullptr);
  EXPECT_THAT(told, ElementsAre("t: there is no room for it"));
  EXPECT_EQ(held(), text);
}

// Without a budget, a server could list new schemas for each call and keep the gateway compiling.
TEST_F(Schemas, CompilingHasABudget) {
  const auto costly = [](int number) {
    std::string parts;
    for (int i = 0; i < 5; ++i) {
      parts +=
          (i == 0 ? "" : ",") + (R"({"pattern":"^[a-z]{1,900})" + std::to_string(number) + "$\"}");
    }
    return R"({"allOf":[)" + parts + "]}";
  };
  int compiled = 0;
  for (; compiled < 1000; ++compiled) {
    const SchemaRef one = keep(costly(compiled));
    if (schemas->compiled(*one, "t") == nullptr) break;
  }
  // Each schema costs about 5 x 1,800.
  EXPECT_GT(compiled, 8);
  EXPECT_LT(compiled, 20);
  const SchemaRef late = keep(costly(1));
  EXPECT_EQ(schemas->compiled(*late, "t"), nullptr);
  EXPECT_TRUE(ToolSchemas::lacks_steps(*late));
  EXPECT_THAT(told, IsEmpty()) << "it will be compiled";
  clock.set(clock.now() + std::chrono::seconds(2));
  EXPECT_NE(schemas->compiled(*late, "t"), nullptr);
  EXPECT_FALSE(ToolSchemas::lacks_steps(*late));
}

TEST_F(Schemas, OneThatCannotBeCompiledIsToldOnce) {
  const SchemaRef one = keep(R"({"type":"nothing"})");
  EXPECT_EQ(schemas->compiled(*one, "t"), nullptr);
  EXPECT_EQ(schemas->compiled(*one, "t"), nullptr);
  EXPECT_THAT(told, SizeIs(1));
}

TEST_F(Schemas, WhatIsCompiledIsGivenUpAndComesBack) {
  const SchemaRef one = keep(schema_text("a"));
  const size_t before = held();
  schemas->compiled(*one, "t");
  schemas->drop_compiled();
  EXPECT_EQ(held(), before);
  EXPECT_NE(schemas->compiled(*one, "t"), nullptr);
  EXPECT_GT(held(), before);
}

TEST_F(Schemas, AListIsChargedForItsNames) {
  {
    ToolList list(schemas);
    EXPECT_TRUE(list.put(std::string(1000, 'n'), {}));
    const size_t of_one = held();
    EXPECT_GE(of_one, 1000 + sizeof(ToolList::Tools::value_type));
    EXPECT_TRUE(list.put(std::string(1000, 'n'), {keep(schema_text("a")), nullptr}));
    EXPECT_FALSE(list.put(std::string(kBound, 'm'), {}));
    ToolList other(std::move(list));
    EXPECT_NE(other.find(std::string(1000, 'n')), nullptr);
  }
  EXPECT_EQ(held(), 0U);
}

TEST_F(Schemas, AListHasALimit) {
  ToolList list(schemas);
  for (size_t i = 0; i < ToolList::kMaxTools; ++i) {
    EXPECT_TRUE(list.put(std::to_string(i), {})) << i;
  }
  EXPECT_FALSE(list.put("more", {}));
  EXPECT_TRUE(list.put("0", {}));
}

}  // namespace

}  // namespace stdgate::mcp

namespace stdgate::test {

// Lock files: what they pin, and the errors in them, with their places.

namespace {

using mcp::McpListKind;
using mcp::ToolLock;

std::string lock_of(const std::string& servers) {
  return R"({"version":1,"servers":)" + servers + "}";
}

TEST(ToolLock, PinsWholeDefinitionsInWhateverSpelling) {
  const auto lock = ToolLock::read(
      lock_of(R"({"a":{"tools":{"r\u0065ad":{"definition":{"name":"read","n":1.0}}}},"b":{}})"),
      "a");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->has(McpListKind::tools, "read"));
  EXPECT_FALSE(lock->has(McpListKind::prompts, "read"));
  const std::pair<std::string, PinState> cases[] = {
      {R"({"n":1,"name":"r\u0065ad"})", PinState::pinned},
      {R"({"n":1,"name":"read","more":1})", PinState::changed},
      {R"({"name":"read"})", PinState::changed},
      {R"({"n":1,"n":1,"name":"read"})", PinState::changed},
  };
  for (const auto& [element, state] : cases) {
    EXPECT_EQ(lock->state_of(McpListKind::tools, "read", element), state) << element;
  }
  EXPECT_EQ(lock->state_of(McpListKind::tools, "other", "{}"), PinState::fresh);
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
