#include "gateway/call/call_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stdgate {

namespace {

TEST(CallStore, ACallThatHasEndedIsUsedAgainAsNew) {
  call::CallStore store;
  call::CallPtr call = store.take();
  const call::Call* const place = call.get();
  call->id = std::string(40, 'i');
  call->method_name = call->tool_name = "name";
  call->principal = call->progress_token = "text";
  call->request = "text";
  call->method = 7;
  call->tool = 3;
  call->cancelled = call->cancel_on_send = call->wants_events = true;
  call->bytes_in = call->connection = call->child = 9;
  call.reset();

  call = store.take();
  ASSERT_EQ(call.get(), place);
  EXPECT_GE(call->id.capacity(), 40U) << "the storage stays";
  for (const std::string* text :
       {&call->id, &call->principal, &call->progress_token, &call->request}) {
    EXPECT_EQ(*text, "");
  }
  EXPECT_EQ(call->method_name, "");
  EXPECT_EQ(call->tool_name, "");
  EXPECT_EQ(call->method, kOtherMethod);
  EXPECT_FALSE(call->tool.has_value());
  EXPECT_FALSE(call->cancelled || call->cancel_on_send || call->wants_events);
  EXPECT_EQ(call->bytes_in + call->connection + call->child, 0U);
  EXPECT_EQ(call->deadline, TimePoint::max());
}

TEST(CallStore, StorageOfALongTextIsNotKept) {
  call::CallStore store;
  store.take()->principal.assign(1000, 'm');
  EXPECT_LT(store.take()->principal.capacity(), 1000U);
}

struct Kept {
  std::string text = "new";
  void clear() { text = "used again"; }
};

TEST(CallStore, FiltersHaveSlotsOfTheirOwnInEachCall) {
  call::CallStore store;
  const auto numbers = store.reserve<uint64_t>();
  const auto texts = store.reserve<Kept>();
  call::CallPtr call = store.take();
  const call::CallPtr other = store.take();
  EXPECT_EQ(numbers.find(call->slots), nullptr) << "unused";
  numbers.of(call->slots) = 7;
  EXPECT_EQ(texts.of(call->slots).text, "new");
  EXPECT_EQ(numbers.of(other->slots), 0U);
  EXPECT_EQ(*numbers.find(call->slots), 7U);
  call.reset();

  call = store.take();
  EXPECT_EQ(numbers.find(call->slots), nullptr) << "a new call";
  EXPECT_EQ(numbers.of(call->slots), 0U);
  EXPECT_EQ(texts.of(call->slots).text, "used again") << "its storage is kept";
}

TEST(CallStore, WhatFiltersKnowOfACallCanGoOnAsAnotherOne) {
  call::CallStore store;
  const auto texts = store.reserve<Kept>();
  const call::CallPtr call = store.take();
  const call::CallPtr other = store.take();
  texts.of(call->slots).text = "known";
  call->slots.move_to(other->slots);
  EXPECT_EQ(texts.find(call->slots), nullptr);
  ASSERT_NE(texts.find(other->slots), nullptr);
  EXPECT_EQ(texts.find(other->slots)->text, "known");
}

TEST(CallStore, ManyAtOnceAreDifferentOnes) {
  call::CallStore store;
  for (int round = 0; round < 2; ++round) {
    std::vector<call::CallPtr> calls;
    for (size_t i = 0; i < call::CallStore::kMaxKept + 10; ++i) {
      calls.push_back(store.take());
      ASSERT_EQ(calls.back()->bytes_in, 0U);
      calls.back()->bytes_in = i + 1;
    }
    for (size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i]->bytes_in, i + 1);
  }
}

}  // namespace

namespace {

TimePoint at(int64_t time) { return TimePoint(Duration(time)); }

class CallDeadlinesTest : public testing::Test {
 protected:
  call::CallPtr call(int64_t deadline) {
    call::CallPtr call = calls_.take();
    call->deadline = at(deadline);
    calls_.deadlines().add(*call);
    return call;
  }
  std::vector<int64_t> due(int64_t now) {
    std::vector<int64_t> times;
    for (const call::Call* call : calls_.deadlines().take_due(at(now))) {
      times.push_back(call->deadline.time_since_epoch().count());
    }
    return times;
  }

  call::CallStore calls_;
};

TEST_F(CallDeadlinesTest, EachIsDueAtItsOwnTime) {
  std::vector<call::CallPtr> kept;
  for (const int64_t deadline : {30, 10, 50, 20, 40}) kept.push_back(call(deadline));
  EXPECT_EQ(calls_.deadlines().next(), at(10));
  EXPECT_TRUE(due(9).empty());
  EXPECT_EQ(due(10), std::vector<int64_t>{10});
  EXPECT_EQ(calls_.deadlines().next(), at(20));
  EXPECT_EQ(due(40), (std::vector<int64_t>{30, 20, 40})) << "in the order of their admission";
  EXPECT_EQ(due(100), std::vector<int64_t>{50});
  EXPECT_EQ(calls_.deadlines().next(), std::nullopt);
}

TEST_F(CallDeadlinesTest, ThoseDueTogetherAreInTheOrderOfTheirAdmission) {
  std::vector<call::CallPtr> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(call(7));
  const auto expired = calls_.deadlines().take_due(at(7));
  ASSERT_EQ(expired.size(), kept.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(expired[i], kept[i].get());
}

TEST_F(CallDeadlinesTest, ACallWithoutADeadlineIsNotInIt) {
  const call::CallPtr call = calls_.take();
  calls_.deadlines().add(*call);
  EXPECT_EQ(calls_.deadlines().size(), 0U);
  calls_.deadlines().remove(*call);
}

TEST_F(CallDeadlinesTest, ACallThatIsGivenBackLeavesIt) {
  call::CallPtr early = call(1);
  const call::CallPtr late = call(2);
  early.reset();
  EXPECT_EQ(calls_.deadlines().next(), at(2));
  EXPECT_EQ(calls_.deadlines().size(), 1U);
  const call::CallPtr again = calls_.take();
  EXPECT_EQ(again->heap_place, call::Call::kNoPlace);
}

TEST_F(CallDeadlinesTest, AnyHistoryKeepsTheEarliestFirst) {
  std::mt19937_64 random(11);
  std::vector<call::CallPtr> kept;
  const auto earliest = [&kept] {
    const auto least = std::min_element(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
      return a->deadline < b->deadline;
    });
    return (*least)->deadline;
  };
  for (int step = 0; step < 20'000; ++step) {
    if (kept.size() < 300 && (kept.empty() || random() % 2 == 0)) {
      kept.push_back(call(static_cast<int64_t>(random() % 1000)));
    } else {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
    }
    ASSERT_EQ(calls_.deadlines().size(), kept.size());
    if (!kept.empty()) {
      ASSERT_EQ(calls_.deadlines().next(), earliest());
    }
    if (step % 100 == 0) calls_.deadlines().check_invariants();
  }
}

}  // namespace

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
  // Typical ids of clients: numbers in a row, with and without a common beginning.
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
