#include "gateway/policy/token_bucket.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBucketStart{seconds(1000)};
constexpr policy::BucketSize kSize{.per_second = 2, .burst = 3};

TEST(TokenBucket, GivesItsBurstAndNotOneMore) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kSize, kBucketStart));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart));
  EXPECT_EQ(bucket.wait(kSize, kBucketStart), milliseconds(500));
}

TEST(TokenBucket, FillsWithTimeUpToItsBurst) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) bucket.take(kSize, kBucketStart);
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + milliseconds(499)));
  EXPECT_TRUE(bucket.take(kSize, kBucketStart + milliseconds(500)));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + milliseconds(999)));
  EXPECT_FALSE(bucket.is_full(kSize, kBucketStart + milliseconds(1999)));
  EXPECT_TRUE(bucket.is_full(kSize, kBucketStart + seconds(1000)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kSize, kBucketStart + seconds(1000)));
  EXPECT_FALSE(bucket.take(kSize, kBucketStart + seconds(1000)));
}

TEST(TokenBucket, GivesItsRateInTheLongRun) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  int taken = 0;
  for (int ms = 0; ms < 100'000; ms += 7)
    taken += bucket.take(kSize, kBucketStart + milliseconds(ms));
  EXPECT_GE(taken, 3 + 199 - 1);
  EXPECT_LE(taken, 3 + 200);
}

TEST(TokenBucket, ATimeBeforeTheLastOneChangesNothing) {
  policy::TokenBucket bucket(kSize, kBucketStart);
  for (int i = 0; i < 3; ++i) bucket.take(kSize, kBucketStart);
  EXPECT_FALSE(bucket.take(kSize, kBucketStart - seconds(10)));
  EXPECT_TRUE(bucket.take(kSize, kBucketStart + milliseconds(500)));
}

}  // namespace
}  // namespace stdgate
