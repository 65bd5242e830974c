// NameTable: a bounded set of names.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gateway/call/name_filter.h"

namespace stdgate {
namespace {

struct Told {
  std::vector<std::pair<NameId, std::string>> names;
  auto listener() {
    return [this](NameId id, std::string_view name) { names.emplace_back(id, name); };
  }
};

TEST(NameTable, TellsOfEachNameOnce) {
  Told told;
  call::NameTable table(10, told.listener());
  const NameId add = table.admit("add");
  const NameId echo = table.admit("echo");
  EXPECT_EQ(table.admit("add"), add);
  EXPECT_EQ(table.find("echo"), echo);
  EXPECT_EQ(table.name(add), "add");
  const std::vector<std::pair<NameId, std::string>> expected = {
      {kOtherName, "_other"}, {add, "add"}, {echo, "echo"}};
  EXPECT_EQ(told.names, expected);
}

// Half of the places fill at once, the rest slowly, so that an operator has time to notice invented
// names.
TEST(NameTable, WhatChildrenShowThatTheyKnowIsLearntInTurns) {
  Told told;
  constexpr size_t kCapacity = 20;
  call::NameTable table(kCapacity, told.listener());
  TimePoint now{std::chrono::hours(1)};
  size_t next = 0;
  const auto learn = [&](size_t tries) {
    size_t learnt = 0;
    for (size_t i = 0; i < tries; ++i) {
      learnt += table.learn("m" + std::to_string(next++), now) == kOtherName ? 0 : 1;
    }
    return learnt;
  };
  EXPECT_EQ(learn(1000), kCapacity / 2 + call::NameTable::kMaxLearntPerMinute);
  now += std::chrono::minutes(1) - Duration{1};
  EXPECT_EQ(learn(1000), 0U);
  EXPECT_NE(table.learn("m0", now), kOtherName) << "it has its place";
  EXPECT_NE(table.admit("configured"), kOtherName) << "that is for others";
  now += Duration{1};
  EXPECT_EQ(learn(1000), kCapacity / 2 - call::NameTable::kMaxLearntPerMinute - 1);
  now += std::chrono::minutes(1);
  EXPECT_EQ(learn(1000), 0U) << "all places are taken";
}

TEST(NameTable, TheNameOfTheOthersIsTheirs) {
  Told told;
  call::NameTable table(10, told.listener());
  EXPECT_EQ(table.admit("_other"), kOtherName);
  EXPECT_EQ(told.names.size(), 1U);
}

TEST(NameTable, FindGivesNoPlace) {
  Told told;
  call::NameTable table(10, told.listener());
  EXPECT_EQ(table.find("invented"), kOtherName);
  EXPECT_EQ(told.names.size(), 1U);
}

TEST(NameTable, BeyondItsCapacityAllIsOther) {
  for (const size_t capacity : {size_t{0}, size_t{1}, size_t{3}, size_t{500}}) {
    Told told;
    call::NameTable table(capacity, told.listener());
    for (size_t i = 0; i < capacity; ++i) {
      EXPECT_NE(table.admit("m" + std::to_string(i)), kOtherName);
    }
    EXPECT_EQ(table.admit("one more"), kOtherName);
    EXPECT_EQ(table.find("one more"), kOtherName);
    EXPECT_EQ(told.names.size(), capacity + 1);
    for (size_t i = 0; i < capacity; ++i) {
      const std::string name = "m" + std::to_string(i);
      EXPECT_EQ(table.name(table.find(name)), name);
    }
  }
}

TEST(NameTable, LongNamesHaveNoPlace) {
  Told told;
  call::NameTable table(10, told.listener());
  const std::string longest(call::NameTable::kMaxName, 'n');
  EXPECT_EQ(table.admit(longest + 'n'), kOtherName);
  EXPECT_EQ(told.names.size(), 1U);
  EXPECT_NE(table.admit(longest), kOtherName);
}

TEST(NameTable, IdsFitWhateverTheCapacity) {
  Told told;
  call::NameTable table(1'000'000, told.listener());
  for (int i = 0; i < 70'000; ++i) table.admit("m" + std::to_string(i));
  EXPECT_EQ(table.size(), size_t{UINT16_MAX});
  EXPECT_EQ(table.find("m69999"), kOtherName);
  EXPECT_EQ(table.name(table.find("m100")), "m100");
}

}  // namespace
}  // namespace stdgate
