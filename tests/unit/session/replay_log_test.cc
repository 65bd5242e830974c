#include "gateway/session/replay_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr size_t kPlenty = 1 << 20;

uint64_t add(session::ReplayLog& log, uint32_t stream, const std::string& text) {
  const std::string_view view = text;
  return log.add(stream, {&view, 1});
}

std::vector<std::pair<uint64_t, std::string>> after(const session::ReplayLog& log, uint32_t stream,
                                                    uint64_t number) {
  std::vector<std::pair<uint64_t, std::string>> events;
  log.replay(stream, number, [&events](uint64_t kept, const session::ReplayLog::Text& text) {
    events.emplace_back(kept, text.view());
  });
  return events;
}

TEST(ReplayLog, NumbersEventsOfAllStreamsFromOneOn) {
  StoragePool storages;
  session::ReplayLog log(10, kPlenty, storages);
  EXPECT_EQ(log.last(), 0U);
  EXPECT_EQ(add(log, 3, "a"), 1U);
  EXPECT_EQ(add(log, 0, "b"), 2U);
  EXPECT_EQ(log.skip(), 3U);
  EXPECT_EQ(add(log, 3, "c"), 4U);
  EXPECT_EQ(log.last(), 4U);
}

TEST(ReplayLog, KeepsTheConcatenationOfTheParts) {
  StoragePool storages;
  session::ReplayLog log(10, kPlenty, storages);
  const std::array<std::string_view, 3> parts = {"a", "", "bc"};
  log.add(1, parts);
  log.add(1, {});
  EXPECT_THAT(after(log, 1, 0), ElementsAre(Pair(1, "abc"), Pair(2, "")));
  EXPECT_EQ(log.bytes(), 3U);
}

TEST(ReplayLog, ReplaysOneStreamInOrderAfterANumber) {
  StoragePool storages;
  session::ReplayLog log(10, kPlenty, storages);
  add(log, 1, "a");
  add(log, 2, "x");
  add(log, 1, "b");
  add(log, 1, "c");
  EXPECT_THAT(after(log, 1, 0), ElementsAre(Pair(1, "a"), Pair(3, "b"), Pair(4, "c")));
  EXPECT_THAT(after(log, 1, 1), ElementsAre(Pair(3, "b"), Pair(4, "c")));
  EXPECT_THAT(after(log, 1, 2), ElementsAre(Pair(3, "b"), Pair(4, "c")));
  EXPECT_THAT(after(log, 1, 4), IsEmpty());
  EXPECT_THAT(after(log, 1, 100), IsEmpty());
  EXPECT_THAT(after(log, 3, 0), IsEmpty());
  EXPECT_THAT(after(log, 1, 1), ElementsAre(Pair(3, "b"), Pair(4, "c"))) << "as often as asked";
}

TEST(ReplayLog, KeepsSoManyEvents) {
  StoragePool storages;
  session::ReplayLog log(3, kPlenty, storages);
  for (const char* text : {"a", "b", "c"}) add(log, 1, text);
  EXPECT_TRUE(log.reaches(1, 0));
  EXPECT_EQ(log.bytes(), 3U);
  add(log, 1, "d");
  EXPECT_FALSE(log.reaches(1, 0));
  EXPECT_TRUE(log.reaches(1, 1)) << "who has had the first misses nothing";
  EXPECT_THAT(after(log, 1, 1), ElementsAre(Pair(2, "b"), Pair(3, "c"), Pair(4, "d")));
  EXPECT_EQ(log.bytes(), 3U);
}

TEST(ReplayLog, KeepsSoManyBytes) {
  StoragePool storages;
  session::ReplayLog log(100, 10, storages);
  add(log, 1, "12345");
  add(log, 1, "67890");
  EXPECT_EQ(log.bytes(), 10U);
  EXPECT_TRUE(log.reaches(1, 0));
  add(log, 2, "");
  EXPECT_TRUE(log.reaches(1, 0)) << "at the limit";
  add(log, 2, "x");
  EXPECT_EQ(log.bytes(), 6U);
  EXPECT_FALSE(log.reaches(1, 0));
  EXPECT_TRUE(log.reaches(2, 0));
  EXPECT_THAT(after(log, 1, 0), ElementsAre(Pair(2, "67890")));
}

TEST(ReplayLog, TheOldestGoesWhateverItsStream) {
  StoragePool storages;
  session::ReplayLog log(2, kPlenty, storages);
  add(log, 7, "a");
  add(log, 8, "b");
  add(log, 7, "c");
  EXPECT_FALSE(log.reaches(7, 0));
  EXPECT_TRUE(log.reaches(7, 1));
  EXPECT_TRUE(log.reaches(8, 0)) << "nothing of this one is lost";
  add(log, 7, "d");
  EXPECT_FALSE(log.reaches(8, 1));
  EXPECT_TRUE(log.reaches(8, 2));
  EXPECT_TRUE(log.knows(8)) << "it has been here";
}

TEST(ReplayLog, AnEventLargerThanTheLogIsLostAlone) {
  StoragePool storages;
  session::ReplayLog log(100, 10, storages);
  add(log, 1, "a");
  add(log, 2, "12345");
  EXPECT_EQ(add(log, 1, std::string(11, 'x')), 3U);
  EXPECT_THAT(after(log, 1, 0), ElementsAre(Pair(1, "a"))) << "others stay";
  EXPECT_THAT(after(log, 2, 0), ElementsAre(Pair(2, "12345")));
  EXPECT_FALSE(log.reaches(1, 1)) << "who has had the first misses the large one";
  EXPECT_TRUE(log.reaches(1, 3));
  EXPECT_TRUE(log.reaches(2, 0));
  EXPECT_EQ(log.bytes(), 6U);
  add(log, 3, std::string(10, 'y'));
  EXPECT_THAT(after(log, 3, 0), ElementsAre(Pair(4, std::string(10, 'y')))) << "at the limit";
}

TEST(ReplayLog, ALogWithoutRoomOnlyCounts) {
  StoragePool storages;
  struct Case {
    size_t events;
    size_t bytes;
  };
  for (const auto& [events, bytes] : {Case{0, kPlenty}, Case{10, 0}}) {
    session::ReplayLog log(events, bytes, storages);
    EXPECT_EQ(add(log, 1, "a"), 1U);
    EXPECT_EQ(log.bytes(), 0U);
    EXPECT_FALSE(log.reaches(1, 0));
    EXPECT_TRUE(log.reaches(1, 1));
  }
}

TEST(ReplayLog, TakesOutWhatNobodyHasHad) {
  StoragePool storages;
  session::ReplayLog log(10, kPlenty, storages);
  add(log, 0, "had");
  add(log, 1, "x");
  add(log, 0, "b");
  add(log, 0, "c");
  const auto taken = log.take_after(0, 1);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].view(), "b");
  EXPECT_EQ(taken[1].view(), "c");
  EXPECT_THAT(log.take_after(0, 1), IsEmpty());
  EXPECT_THAT(after(log, 0, 0), ElementsAre(Pair(1, "had")));
  EXPECT_THAT(after(log, 1, 0), ElementsAre(Pair(2, "x")));
  EXPECT_EQ(log.bytes(), 4U);
  EXPECT_TRUE(log.reaches(0, 0));
}

// --- Streams that have ended ----------------------------------------------------------------

// More streams than any log remembers.
constexpr uint32_t kManyStreams = 100000;

TEST(ReplayLog, NeverSaysThatNothingIsLostOfAForgottenStream) {
  StoragePool storages;
  session::ReplayLog log(1, kPlenty, storages);
  add(log, 0, "a");
  add(log, 5, "b");
  for (uint32_t stream = 6; stream < kManyStreams; ++stream) add(log, stream, "x");
  EXPECT_FALSE(log.reaches(0, 0));
  EXPECT_FALSE(log.reaches(5, 1));
  EXPECT_FALSE(log.knows(5));
}

TEST(ReplayLog, RemembersBoundedlyManyStreams) {
  StoragePool storages;
  session::ReplayLog log(10, kPlenty, storages);
  size_t known = 0;
  for (uint32_t stream = 1; stream < kManyStreams; ++stream) {
    add(log, stream, "x");
    add(log, 0, "always here");
  }
  for (uint32_t stream = 0; stream < kManyStreams; ++stream) known += log.knows(stream) ? 1 : 0;
  EXPECT_LT(known, 10000U);
  EXPECT_TRUE(log.knows(0));
  EXPECT_TRUE(log.knows(kManyStreams - 1));
  EXPECT_TRUE(log.knows(kManyStreams - 100)) << "the younger ones are remembered";
}

TEST(ReplayLog, LogsShareWhatIsOfferedToAll) {
  StoragePool storages;
  const std::string text(StoragePool::kShared, 'x');
  session::ReplayLog one(10, kPlenty, storages);
  session::ReplayLog two(10, kPlenty, storages);
  {
    const SharedOffer offer(storages, text);
    add(one, 0, text);
    add(two, 0, text);
  }
  add(two, 0, "more");
  EXPECT_EQ(one.bytes(), text.size());
  EXPECT_EQ(two.bytes(), text.size() + 4);
  const auto from_one = one.take_after(0, 0);
  const auto from_two = two.take_after(0, 0);
  ASSERT_EQ(from_one.size(), 1U);
  ASSERT_EQ(from_two.size(), 2U);
  EXPECT_EQ(from_one[0].view(), text);
  EXPECT_EQ(from_one[0].view().data(), from_two[0].view().data());
  EXPECT_EQ(from_two[1].view(), "more");
  EXPECT_EQ(two.bytes(), 0U);
}

TEST(ReplayLog, IsChargedToItsClient) {
  StoragePool storages;
  Account gateway(10'000);
  Account client(gateway, 3000);
  {
    session::ReplayLog log(10, kPlenty, storages, {&client, nullptr});
    add(log, 0, std::string(1000, 'x'));
    EXPECT_GT(client.used(), 1000U);
    add(log, 0, std::string(1000, 'y'));
    // If the client holds too much, the oldest events are dropped.
    add(log, 0, std::string(1000, 'z'));
    EXPECT_LE(client.used(), 3000U);
    EXPECT_THAT(after(log, 0, 0),
                ElementsAre(Pair(2, std::string(1000, 'y')), Pair(3, std::string(1000, 'z'))));
    EXPECT_FALSE(log.reaches(0, 0));
    EXPECT_TRUE(log.reaches(0, 1));
    log.take_after(0, 2);
    EXPECT_LT(client.used(), 2000U);
  }
  EXPECT_EQ(gateway.used(), 0U);
}

TEST(ReplayLog, LetsGoOfAll) {
  StoragePool storages;
  Account gateway(10'000);
  Account client(gateway, 10'000);
  session::ReplayLog log(10, kPlenty, storages, {&client, nullptr});
  add(log, 0, std::string(1000, 'x'));
  add(log, 3, "y");
  log.drop();
  EXPECT_LT(client.used(), 100U);
  EXPECT_FALSE(log.reaches(0, 0));
  EXPECT_FALSE(log.reaches(3, 1));
  EXPECT_TRUE(log.reaches(3, 2));
  EXPECT_EQ(add(log, 3, "z"), 3U);
  EXPECT_THAT(after(log, 3, 0), ElementsAre(Pair(3, "z")));
}

}  // namespace
}  // namespace stdgate
