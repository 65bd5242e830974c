// SlotMap: handles that go stale.

#include "gateway/base/slot_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/random_seed.h"

namespace stdgate {
namespace {

TEST(SlotMapTest, AHandleFindsItsEntry) {
  SlotMap<int> map(4);
  const Handle a = *map.acquire();
  const Handle b = *map.acquire();
  EXPECT_NE(a, b);
  *map.find(a) = 1;
  *map.find(b) = 2;
  EXPECT_EQ(*map.find(a), 1);
  EXPECT_EQ(*map.find(b), 2);
  EXPECT_EQ(map.size(), 2u);
  const SlotMap<int>& constant = map;
  EXPECT_EQ(constant.find(a), map.find(a));
}

TEST(SlotMapTest, WhatIsNoLiveHandleMisses) {
  SlotMap<int> map(4);
  EXPECT_TRUE(Handle{}.is_none());
  EXPECT_EQ(map.find(Handle{}), nullptr);
  EXPECT_EQ(map.find(Handle{0, 0}), nullptr);
  const Handle a = *map.acquire();
  EXPECT_FALSE(a.is_none());
  EXPECT_EQ(map.find(Handle{a.index + 1, a.generation}), nullptr);
  EXPECT_EQ(map.find(Handle{a.index, a.generation + 1}), nullptr);
  map.release(a);
  EXPECT_EQ(map.find(a), nullptr);
  const Handle b = *map.acquire();
  EXPECT_EQ(b.index, a.index);
  EXPECT_NE(b.generation, a.generation);
  EXPECT_EQ(map.find(a), nullptr);
  EXPECT_NE(map.find(b), nullptr);
}

TEST(SlotMapTest, FullAtItsCapacity) {
  SlotMap<int> map(2);
  const Handle a = *map.acquire();
  EXPECT_TRUE(map.acquire());
  EXPECT_FALSE(map.acquire());
  EXPECT_EQ(map.size(), 2u);
  map.release(a);
  EXPECT_TRUE(map.acquire());
  EXPECT_FALSE(map.acquire());
  EXPECT_EQ(map.capacity(), 2u);
  SlotMap<int> none(0);
  EXPECT_FALSE(none.acquire());
}

TEST(SlotMapTest, SlotsAreReusedOldestFirst) {
  SlotMap<int> map(3);
  std::vector<Handle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(*map.acquire());
  for (const size_t i : {1u, 0u, 2u}) map.release(handles[i]);
  for (const size_t i : {1u, 0u, 2u}) EXPECT_EQ(map.acquire()->index, handles[i].index);
}

TEST(SlotMapTest, AReleasedEntryStaysAsItWas) {
  SlotMap<std::string> map(1);
  const Handle a = *map.acquire();
  map.find(a)->assign(1000, 'x');
  const char* storage = map.find(a)->data();
  map.release(a);
  std::string& again = *map.find(*map.acquire());
  EXPECT_EQ(again.size(), 1000u);
  EXPECT_EQ(again.data(), storage);
}

TEST(SlotMapTest, EntriesDoNotMove) {
  SlotMap<int> map(1000);
  const Handle first = *map.acquire();
  const int* place = map.find(first);
  while (map.acquire()) {
  }
  EXPECT_EQ(map.find(first), place);
}

TEST(SlotMapTest, FindIndex) {
  SlotMap<int> map(2);
  Handle handle;
  EXPECT_EQ(map.find_index(0, &handle), nullptr);
  const Handle a = *map.acquire();
  EXPECT_EQ(map.find_index(a.index, &handle), map.find(a));
  EXPECT_EQ(handle, a);
  map.release(a);
  EXPECT_EQ(map.find_index(a.index, &handle), nullptr);
}

TEST(SlotMapTest, VisitorsMayRelease) {
  SlotMap<int> map(5);
  for (int i = 0; i < 5; ++i) *map.find(*map.acquire()) = i;
  int sum = 0;
  map.for_each([&](Handle handle, int& value) {
    sum += value;
    if (value % 2 == 0) map.release(handle);
  });
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(map.size(), 2u);
}

TEST(SlotMapTest, RandomUseAgainstAMap) {
  constexpr size_t kCapacity = 20;
  std::mt19937_64 random(test::random_seed());
  SlotMap<int> map(kCapacity);
  std::map<std::pair<uint32_t, uint32_t>, int> model;
  std::vector<Handle> given;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0) {
      const auto handle = map.acquire();
      ASSERT_EQ(handle.has_value(), model.size() < kCapacity);
      if (!handle) continue;
      *map.find(*handle) = step;
      ASSERT_TRUE(model.emplace(std::pair(handle->index, handle->generation), step).second);
      given.push_back(*handle);
    } else if (!given.empty()) {
      const Handle handle = given[random() % given.size()];
      const auto known = model.find({handle.index, handle.generation});
      const int* found = map.find(handle);
      ASSERT_EQ(found != nullptr, known != model.end());
      if (found == nullptr) continue;
      ASSERT_EQ(*found, known->second);
      map.release(handle);
      model.erase(known);
    }
    ASSERT_EQ(map.size(), model.size());
  }
}

}  // namespace
}  // namespace stdgate
