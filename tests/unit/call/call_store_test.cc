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
  call->method_name = call->tool_name = call->trace.state = call->progress_token = "text";
  call->subscription = "key";
  call->trace.trace_id[0] = call->trace.flags = 1;
  call->method = 7;
  call->tool = 3;
  call->cancelled = call->cancel_on_send = call->wants_events = true;
  call->bytes_in = call->connection = call->child = 9;
  call.reset();

  call = store.take();
  ASSERT_EQ(call.get(), place);
  EXPECT_GE(call->id.capacity(), 40U) << "the storage stays";
  for (const std::string* text : {&call->id, &call->method_name, &call->tool_name,
                                  &call->trace.state, &call->progress_token, &call->subscription}) {
    EXPECT_EQ(*text, "");
  }
  EXPECT_EQ(call->trace, TraceContext());
  EXPECT_EQ(call->method, kOtherMethod);
  EXPECT_FALSE(call->tool.has_value());
  EXPECT_FALSE(call->cancelled || call->cancel_on_send || call->wants_events);
  EXPECT_EQ(call->bytes_in + call->connection + call->child, 0U);
  EXPECT_EQ(call->deadline, TimePoint::max());
}

TEST(CallStore, StorageOfALongTextIsNotKept) {
  call::CallStore store;
  store.take()->method_name.assign(1000, 'm');
  EXPECT_LT(store.take()->method_name.capacity(), 1000U);
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
