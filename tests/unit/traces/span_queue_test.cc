#include <gtest/gtest.h>

#include "metrics/traces/trace_exporter.h"

namespace stdgate::traces {
namespace {

TEST(SpanQueue, MakesDocuments) {
  SpanQueue queue("<", 10);
  EXPECT_TRUE(queue.empty());
  *queue.add(2) += "a,b";
  *queue.add(1) += "c";
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.front(), "<a,b,c]}]}]}");
  EXPECT_EQ(queue.front(), "<a,b,c]}]}]}") << "once more, after a failure";
  EXPECT_EQ(queue.front_size(), 3U);
}

TEST(SpanQueue, AddsNothingToWhatIsOnItsWay) {
  SpanQueue queue("<", 10);
  *queue.add(1) += "a";
  EXPECT_FALSE(queue.has_whole_batch());
  queue.front();
  *queue.add(1) += "b";
  EXPECT_EQ(queue.front(), "<a]}]}]}");
  queue.pop();
  EXPECT_EQ(queue.front(), "<b]}]}]}");
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

TEST(SpanQueue, IsBounded) {
  SpanQueue queue("", 6);
  ASSERT_NE(queue.add(3), nullptr);
  ASSERT_NE(queue.add(3), nullptr);
  EXPECT_EQ(queue.add(1), nullptr);
  queue.front();
  EXPECT_EQ(queue.add(1), nullptr) << "what is on its way counts too";
  queue.pop();
  EXPECT_NE(queue.add(6), nullptr);
  EXPECT_EQ(queue.add(1), nullptr);
}

TEST(SpanQueue, BeginsAnotherDocumentWhenOneIsWhole) {
  SpanQueue queue("", 10 * SpanQueue::kMaxBatch);
  for (size_t i = 0; i + 3 <= SpanQueue::kMaxBatch; i += 3) queue.add(3);
  EXPECT_FALSE(queue.has_whole_batch());
  queue.add(3);  // the spans of a call stay together
  EXPECT_TRUE(queue.has_whole_batch());
  EXPECT_EQ(queue.front_size(), SpanQueue::kMaxBatch / 3 * 3);
}

}  // namespace
}  // namespace stdgate::traces
