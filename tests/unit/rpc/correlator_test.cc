// Correlator and parse_wire_id.

#include "gateway/rpc/correlator.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace stdgate {
namespace {

template <class Entry>
std::vector<Entry> in_order(rpc::Correlator<Entry>& correlator) {
  std::vector<Entry> entries;
  for (auto id = correlator.oldest(); id; id = correlator.next(*id)) {
    entries.push_back(*correlator.find(*id));
  }
  return entries;
}

TEST(ParseWireId, TakesOnlyWhatTheGatewayWrites) {
  struct Case {
    std::string_view raw;
    std::optional<rpc::WireId> id;
  };
  const std::vector<Case> cases = {
      {"0", 0},
      {"7", 7},
      {"4096", 4096},
      {"2147483647", 2147483647},
      {"2147483648", std::nullopt},
      {"4294967296", std::nullopt},
      {"9999999999", std::nullopt},
      {"12345678901", std::nullopt},
      {"12345678901234567890", std::nullopt},
      {"", std::nullopt},
      {"-0", std::nullopt},
      {"-1", std::nullopt},
      {"+1", std::nullopt},
      {"00", std::nullopt},
      {"01", std::nullopt},
      {"1.0", std::nullopt},
      {"1e0", std::nullopt},
      {"1 ", std::nullopt},
      {" 1", std::nullopt},
      {"\"1\"", std::nullopt},
      {"null", std::nullopt},
      {"1x", std::nullopt},
  };
  for (const Case& c : cases) EXPECT_EQ(rpc::parse_wire_id(c.raw), c.id) << '\'' << c.raw << '\'';
}

TEST(Correlator, FindsWhatItHolds) {
  rpc::Correlator<std::string> calls(3);
  const rpc::WireId a = *calls.open("a");
  const rpc::WireId b = *calls.open("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(*calls.find(a), "a");
  EXPECT_EQ(*calls.find(b), "b");
  EXPECT_EQ(calls.close(a), "a");
  EXPECT_EQ(calls.find(a), nullptr);
  EXPECT_EQ(*calls.find(b), "b");
  EXPECT_EQ(calls.size(), 1U);
}

TEST(Correlator, IsFullAtItsCapacity) {
  for (const size_t capacity : {size_t{1}, size_t{2}, rpc::Correlator<int>::kMaxEntries,
                                rpc::Correlator<int>::kMaxEntries + 1}) {
    const size_t room = std::min(capacity, rpc::Correlator<int>::kMaxEntries);
    rpc::Correlator<int> calls(capacity);
    std::set<rpc::WireId> ids;
    for (size_t i = 0; i < room; ++i) {
      EXPECT_FALSE(calls.full());
      ids.insert(*calls.open(static_cast<int>(i)));
    }
    EXPECT_EQ(ids.size(), room);
    EXPECT_TRUE(calls.full());
    EXPECT_EQ(calls.open(-1), std::nullopt);
    EXPECT_EQ(calls.size(), room);
    calls.close(*ids.begin());
    EXPECT_FALSE(calls.full());
    EXPECT_TRUE(calls.open(-2).has_value());
  }
}

TEST(Correlator, KeepsTheOrderOfOpening) {
  // The entries that are closed, in order, and the entries that remain.
  struct Case {
    std::vector<int> closed;
    std::vector<int> left;
  };
  const std::vector<Case> cases = {
      {{}, {0, 1, 2, 3, 4}}, {{0}, {1, 2, 3, 4}}, {{4}, {0, 1, 2, 3}},   {{2}, {0, 1, 3, 4}},
      {{2, 1, 3}, {0, 4}},   {{4, 0}, {1, 2, 3}}, {{0, 1, 2, 3, 4}, {}}, {{4, 3, 2, 1, 0}, {}},
      {{1, 3}, {0, 2, 4}},   {{0, 4, 1, 3}, {2}}, {{3, 4}, {0, 1, 2}},
  };
  for (const Case& c : cases) {
    rpc::Correlator<int> calls(5);
    std::vector<rpc::WireId> ids;
    for (int i = 0; i < 5; ++i) ids.push_back(*calls.open(i));
    for (const int i : c.closed) EXPECT_EQ(calls.close(ids[static_cast<size_t>(i)]), i);
    EXPECT_EQ(in_order(calls), c.left);
    std::vector<int> expected = c.left;
    while (!calls.full()) {
      expected.push_back(10);
      calls.open(10);
    }
    EXPECT_EQ(in_order(calls), expected) << "a reused slot is the newest entry";
  }
}

TEST(Correlator, EmptyHasNoOldest) {
  rpc::Correlator<int> calls(2);
  EXPECT_EQ(calls.oldest(), std::nullopt);
  calls.close(*calls.open(1));
  EXPECT_EQ(calls.oldest(), std::nullopt);
}

TEST(Correlator, IdsOfClosedEntriesMiss) {
  rpc::Correlator<int> calls(2);
  std::vector<rpc::WireId> stale;
  for (int i = 0; i < 1000; ++i) {
    const rpc::WireId id = *calls.open(i);
    for (const rpc::WireId old : stale) ASSERT_EQ(calls.find(old), nullptr);
    ASSERT_EQ(*calls.find(id), i);
    ASSERT_LE(id, static_cast<rpc::WireId>(INT32_MAX));
    calls.close(id);
    stale.push_back(id);
  }
}

// Some servers take a request with id 0 for a notification.
TEST(Correlator, NoChildIsGreetedWithIdZero) {
  rpc::Correlator<int> calls(4);
  EXPECT_NE(*calls.open(1), 0U);
}

TEST(Correlator, InventedIdsMiss) {
  rpc::Correlator<int> calls(4);
  const rpc::WireId id = *calls.open(1);
  constexpr rpc::WireId kNextGeneration = 1U << rpc::Correlator<int>::kIndexBits;
  for (const rpc::WireId invented :
       {id + 1, id + 3, id + 4, id + kNextGeneration, static_cast<rpc::WireId>(INT32_MAX)}) {
    EXPECT_EQ(calls.find(invented), nullptr) << invented;
  }
}

TEST(Correlator, GenerationsComeRoundWithinThirtyOneBits) {
  rpc::Correlator<int> calls(1);
  const rpc::WireId first = *calls.open(0);
  calls.close(first);
  std::set<rpc::WireId> seen = {first};
  constexpr uint32_t kAll =
      (1U << rpc::Correlator<int>::kGenerationBits) - rpc::Correlator<int>::kFirst;
  for (uint32_t i = 1; i < kAll; ++i) {
    ASSERT_GE(first, rpc::Correlator<int>::kFirst);
    const rpc::WireId id = *calls.open(0);
    ASSERT_LE(id, static_cast<rpc::WireId>(INT32_MAX));
    ASSERT_TRUE(seen.insert(id).second) << "used again after " << i;
    ASSERT_NE(calls.find(id), nullptr);
    calls.close(id);
  }
  EXPECT_EQ(calls.open(0), first);
}

TEST(Correlator, KnowsWhichIdsHaveEnded) {
  rpc::Correlator<int> correlator(2);
  const rpc::WireId first = *correlator.open(1);
  const rpc::WireId second = *correlator.open(2);
  for (const rpc::WireId id : {first, second}) EXPECT_FALSE(correlator.has_ended(id));
  correlator.close(first);
  EXPECT_TRUE(correlator.has_ended(first));
  EXPECT_FALSE(correlator.has_ended(second));
  const rpc::WireId next = *correlator.open(3);
  EXPECT_EQ(next >> 19, first >> 19) << "in the same place";
  EXPECT_TRUE(correlator.has_ended(first));
  EXPECT_FALSE(correlator.has_ended(next));
  for (const rpc::WireId never : {0U, 1U << 19, 4095U << 19, next + 1, 2147483647U}) {
    EXPECT_FALSE(correlator.has_ended(never)) << never;
  }
}

}  // namespace
}  // namespace stdgate
