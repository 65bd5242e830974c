#include <gtest/gtest.h>

#include "gateway/pool/call_table.h"

namespace stdgate::pool {
namespace {

constexpr session::SessionId kOne{3, 1};
constexpr session::SessionId kOther{70, 5};

TEST(SessionCounts, KnowsTheOnlySession) {
  SessionCounts counts;
  EXPECT_EQ(counts.only(0), session::SessionId()) << "there are no calls";
  EXPECT_EQ(counts.only(1), std::nullopt) << "of a client without a session";
  counts.add(kOne);
  counts.add(kOne);
  EXPECT_EQ(counts.only(2), kOne);
  EXPECT_EQ(counts.only(3), std::nullopt) << "one more, of a client without a session";
  counts.add(kOther);
  EXPECT_EQ(counts.only(3), std::nullopt);
  counts.remove(kOne);
  EXPECT_EQ(counts.only(2), std::nullopt);
  counts.remove(kOne);
  EXPECT_EQ(counts.only(1), kOther);
  counts.remove(kOther);
  EXPECT_EQ(counts.only(0), session::SessionId());
}

TEST(SessionCounts, KnowsWhoHasCalls) {
  SessionCounts counts;
  EXPECT_EQ(counts.calls_of(kOne), 0U);
  counts.add(kOther);
  EXPECT_EQ(counts.calls_of(kOne), 0U);
  EXPECT_EQ(counts.calls_of(kOther), 1U);
  EXPECT_EQ(counts.calls_of({kOther.index, kOther.generation + 1}), 0U);
  EXPECT_EQ(counts.calls_of({kOther.index + 1, 1}), 0U);
  counts.remove(kOther);
  EXPECT_EQ(counts.calls_of(kOther), 0U);
}

// The counts are as if a former session in the same place had left a call behind.
TEST(SessionCounts, TakesNoSessionForAnotherOne) {
  SessionCounts counts;
  const session::SessionId next{kOne.index, kOne.generation + 1};
  counts.add(kOne);
  counts.add(next);
  EXPECT_EQ(counts.only(2), std::nullopt);
  EXPECT_EQ(counts.calls_of(kOne), 0U);
  EXPECT_EQ(counts.calls_of(next), 0U);
  counts.remove(kOne);
  counts.remove(next);
  counts.add(next);
  EXPECT_EQ(counts.only(1), next);
}

}  // namespace
}  // namespace stdgate::pool
