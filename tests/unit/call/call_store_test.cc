#include "gateway/call/call_store.h"

#include <gtest/gtest.h>

#include <string>
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
}  // namespace stdgate
