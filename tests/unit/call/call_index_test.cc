#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "gateway/call/call_store.h"

namespace stdgate {
namespace {

class CallIndexTest : public testing::Test {
 protected:
  call::CallPtr make(session::Caller caller, const std::string& id,
                     call::CallPlace place = call::CallPlace::waiting) {
    call::CallPtr call = calls_.take();
    call->caller = caller;
    call->id = id;
    call->place = place;
    index_.add(*call);
    return call;
  }

  call::CallStore calls_{1, 2};
  call::CallIndex& index_ = calls_.index();
};

TEST_F(CallIndexTest, ACallIsKnownByItsOriginAndTheBytesOfItsId) {
  const session::Caller a{0, 1};
  const session::Caller b{0, 2};
  const session::Caller c{1, 1};
  const std::string long_id(1024, 'x');
  const std::vector<std::string> ids = {"1",    "\"1\"", "1.0", "12",       "123",       "1234",
                                        "null", "12345", "",    "12345678", "123456789", long_id};
  std::vector<call::CallPtr> kept;
  for (const std::string& id : ids) kept.push_back(make(a, id));
  kept.push_back(make(b, "1"));
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(index_.find(a, ids[i]), kept[i].get());
  EXPECT_EQ(index_.find(b, "1"), kept.back().get());
  EXPECT_EQ(index_.find(b, "12"), nullptr);
  EXPECT_EQ(index_.find(c, "1"), nullptr);
  EXPECT_EQ(index_.find(a, "2"), nullptr);
  EXPECT_EQ(index_.find(a, long_id + "x"), nullptr);
}

TEST_F(CallIndexTest, WhatNeitherWaitsNorIsInFlightIsNotFound) {
  const session::Caller a{0, 1};
  const call::CallPtr call = make(a, "1", call::CallPlace::nowhere);
  EXPECT_EQ(index_.find(a, "1"), nullptr);
  call->place = call::CallPlace::in_flight;
  EXPECT_EQ(index_.find(a, "1"), call.get());
}

TEST_F(CallIndexTest, AnIdThatIsUsedTwiceMeansTheYoungest) {
  const session::Caller a{0, 1};
  const call::CallPtr first = make(a, "1");
  call::CallPtr second = make(a, "1");
  EXPECT_EQ(index_.find(a, "1"), second.get());
  second.reset();
  EXPECT_EQ(index_.find(a, "1"), first.get());
}

TEST_F(CallIndexTest, HoldsAgainstAMapThroughAnyHistory) {
  std::mt19937_64 random(3);
  std::map<std::pair<uint32_t, std::string>, call::CallPtr> expected;
  for (int step = 0; step < 50'000; ++step) {
    const session::Caller caller{static_cast<uint32_t>(random() % 20), 1};
    const std::string id = std::to_string(random() % 500);
    const auto key = std::make_pair(caller.index, id);
    const auto known = expected.find(key);
    ASSERT_EQ(index_.find(caller, id), known == expected.end() ? nullptr : known->second.get());
    if (known != expected.end()) {
      expected.erase(known);
    } else {
      expected.emplace(key, make(caller, id));
    }
    ASSERT_EQ(index_.size(), expected.size());
  }
}

TEST_F(CallIndexTest, NoTwoIdsOfAClientShareMoreThanTheyShould) {
  // Ids as clients choose them: numbers in a row, with and without a common beginning.
  for (const std::string& head : {std::string(), std::string("\"request-0000-")}) {
    std::vector<call::CallPtr> kept;
    std::set<uint64_t> hashes;
    std::map<uint64_t, int> buckets;
    for (int i = 0; i < 4096; ++i) {
      kept.push_back(make(session::Caller{3, 7}, head + std::to_string(i)));
      hashes.insert(kept.back()->hash);
      ++buckets[kept.back()->hash % 4096];
    }
    EXPECT_EQ(hashes.size(), 4096U);
    const auto fullest = std::max_element(buckets.begin(), buckets.end(),
                                          [](auto& a, auto& b) { return a.second < b.second; });
    EXPECT_LE(fullest->second, 12) << "for as many buckets as calls";
  }
}

}  // namespace
}  // namespace stdgate
