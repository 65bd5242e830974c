// MethodTable: a bounded set of names.

#include "gateway/pool/method_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stdgate {
namespace {

struct Told {
  std::vector<std::pair<MethodId, std::string>> names;
  auto listener() {
    return [this](MethodId id, std::string_view name) { names.emplace_back(id, name); };
  }
};

TEST(MethodTable, TellsOfEachNameOnce) {
  Told told;
  MethodTable table(10, told.listener());
  const MethodId add = table.admit("add");
  const MethodId echo = table.admit("echo");
  EXPECT_EQ(table.admit("add"), add);
  EXPECT_EQ(table.find("echo"), echo);
  EXPECT_EQ(table.name(add), "add");
  const std::vector<std::pair<MethodId, std::string>> expected = {
      {kOtherMethod, "_other"}, {add, "add"}, {echo, "echo"}};
  EXPECT_EQ(told.names, expected);
}

TEST(MethodTable, TheNameOfTheOthersIsTheirs) {
  Told told;
  MethodTable table(10, told.listener());
  EXPECT_EQ(table.admit("_other"), kOtherMethod);
  EXPECT_EQ(told.names.size(), 1U);
}

TEST(MethodTable, FindGivesNoPlace) {
  Told told;
  MethodTable table(10, told.listener());
  EXPECT_EQ(table.find("invented"), kOtherMethod);
  EXPECT_EQ(told.names.size(), 1U);
}

TEST(MethodTable, BeyondItsCapacityAllIsOther) {
  for (const size_t capacity : {size_t{0}, size_t{1}, size_t{3}, size_t{500}}) {
    Told told;
    MethodTable table(capacity, told.listener());
    for (size_t i = 0; i < capacity; ++i) {
      EXPECT_NE(table.admit("m" + std::to_string(i)), kOtherMethod);
    }
    EXPECT_EQ(table.admit("one more"), kOtherMethod);
    EXPECT_EQ(table.find("one more"), kOtherMethod);
    EXPECT_EQ(told.names.size(), capacity + 1);
    for (size_t i = 0; i < capacity; ++i) {
      const std::string name = "m" + std::to_string(i);
      EXPECT_EQ(table.name(table.find(name)), name);
    }
  }
}

TEST(MethodTable, IdsFitWhateverTheCapacity) {
  Told told;
  MethodTable table(1'000'000, told.listener());
  for (int i = 0; i < 70'000; ++i) table.admit("m" + std::to_string(i));
  EXPECT_EQ(table.size(), size_t{UINT16_MAX});
  EXPECT_EQ(table.find("m69999"), kOtherMethod);
  EXPECT_EQ(table.name(table.find("m100")), "m100");
}

}  // namespace
}  // namespace stdgate
