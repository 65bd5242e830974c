// Where JSON pointers lead, in small and in large objects and arrays.
#include <gtest/gtest.h>

#include <string>

#include "gateway/schema/schema_reference.h"

namespace stdgate {
namespace {

using schema::JsonTree;
using schema::PointerIndex;

std::string raw_at(const std::string& text, const std::string& pointer) {
  JsonTree tree;
  EXPECT_TRUE(tree.read(text));
  PointerIndex index(tree);
  std::string found = "none";
  // The second look is by the index.
  for (int look = 0; look < 2; ++look) {
    const auto at = index.follow(0, pointer);
    found = at ? std::string(tree.raw(*at)) : "none";
  }
  return found;
}

TEST(PointerIndex, LeadsToMembersAndElements) {
  for (const size_t count : {3UL, size_t{PointerIndex::kFew}, PointerIndex::kFew + 1UL, 5000UL}) {
    std::string object = R"({"a/b":"slash","m~n":"tilde","":"empty","\u00e4":"umlaut")";
    std::string array = "[";
    for (size_t i = 0; i < count; ++i) {
      object += R"(,"k)" + std::to_string(i) + "\":" + std::to_string(i);
      array += (i > 0 ? "," : "") + std::to_string(i);
    }
    const std::string last = std::to_string(count - 1);
    const std::string text = R"({"o":)" + object + R"(},"l":)" + array + "]}";
    EXPECT_EQ(raw_at(text, "/o/k" + last), last);
    EXPECT_EQ(raw_at(text, "/o/k" + std::to_string(count)), "none");
    EXPECT_EQ(raw_at(text, "/o/a~1b"), R"("slash")");
    EXPECT_EQ(raw_at(text, "/o/m~0n"), R"("tilde")");
    EXPECT_EQ(raw_at(text, "/o/"), R"("empty")");
    EXPECT_EQ(raw_at(text, "/o/ä"), R"("umlaut")");
    EXPECT_EQ(raw_at(text, "/l/" + last), last);
    EXPECT_EQ(raw_at(text, "/l/" + std::to_string(count)), "none");
    for (const std::string wrong : {"/l/-", "/l/x", "/l/1x", "o", "/o/k0/x", "/l/0/0"}) {
      EXPECT_EQ(raw_at(text, wrong), "none") << wrong;
    }
    EXPECT_EQ(raw_at(text, ""), text);
  }
}

}  // namespace
}  // namespace stdgate
