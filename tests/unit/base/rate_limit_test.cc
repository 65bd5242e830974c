// RateLimit: so many a second, and a count of the rest.

#include <gtest/gtest.h>

#include <vector>

#include "gateway/base/log.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;

TEST(RateLimit, AllowsItsNumberAWindow) {
  struct Case {
    Duration at;
    bool allowed;
  };
  const std::vector<Case> cases = {
      {milliseconds(0), true},     {milliseconds(1), true},     {milliseconds(2), false},
      {milliseconds(999), false},  {milliseconds(1000), true},  {milliseconds(1500), true},
      {milliseconds(1999), false}, {milliseconds(9000), true},  {milliseconds(9000), true},
      {milliseconds(9000), false}, {milliseconds(10000), true},
  };
  RateLimit limit(2);
  constexpr TimePoint kStart{std::chrono::hours(1)};
  for (const Case& c : cases) EXPECT_EQ(limit.allow(kStart + c.at), c.allowed) << c.at.count();
  EXPECT_EQ(limit.take_suppressed(), 4U);
  EXPECT_EQ(limit.take_suppressed(), 0U);
}

TEST(RateLimit, NoneIsNone) {
  RateLimit limit(0);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limit.allow(TimePoint{std::chrono::hours(i)}));
  EXPECT_EQ(limit.take_suppressed(), 3U);
}

}  // namespace
}  // namespace stdgate
