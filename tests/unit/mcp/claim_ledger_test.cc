// Until when children are needed for what they have given out.
#include <gtest/gtest.h>

#include "gateway/mcp/claims.h"

namespace stdgate::mcp {
namespace {

using std::chrono::seconds;

constexpr TimePoint kNever = TimePoint::min();
constexpr uint64_t kChild = 7;

class ClaimLedgerTest : public testing::Test {
 public:
  [[nodiscard]] TimePoint needed() const { return ledger.needed_until(kChild, now); }
  void note(std::string_view id, std::optional<Duration> ttl, bool has_ended = false) {
    ledger.note_task(kChild, id, ttl, has_ended, now);
  }

  Duration patience = seconds(10);
  ClaimLedger ledger{2, patience};
  TimePoint now = TimePoint{} + seconds(100);
};

TEST_F(ClaimLedgerTest, AStateIsOpenUntilItComesBackOrExpires) {
  EXPECT_EQ(needed(), kNever);
  const uint64_t first = ledger.add_state(kChild, now);
  EXPECT_EQ(needed(), now + seconds(10));
  ledger.close_state(kChild, first);
  ledger.close_state(kChild, first);
  EXPECT_EQ(needed(), kNever);
  ledger.add_state(kChild, now);
  EXPECT_EQ(ledger.states(kChild, now), 1U);
  now += seconds(10);
  EXPECT_EQ(needed(), kNever);
  EXPECT_EQ(ledger.states(kChild, now), 0U);
}

TEST_F(ClaimLedgerTest, ATaskIsForItsTimeToLive) {
  note("\"a\"", seconds(60));
  const TimePoint end = now + seconds(60);
  EXPECT_EQ(needed(), end);
  now += seconds(30);
  note("\"a\"", seconds(60));
  EXPECT_EQ(needed(), end) << "from its beginning on";
  now = end;
  EXPECT_EQ(needed(), kNever);
}

TEST_F(ClaimLedgerTest, ATaskWithoutATimeToLiveIsUntilItsClientKnowsItsEnd) {
  note("\"a\"", {});
  EXPECT_EQ(needed(), TimePoint::max());
  note("\"a\"", {}, true);
  const TimePoint end = now + seconds(10);
  EXPECT_EQ(needed(), end);
  now += seconds(5);
  note("\"a\"", {}, true);
  EXPECT_EQ(needed(), end) << "to be told it again does not keep the child";
}

TEST_F(ClaimLedgerTest, IsBounded) {
  note("\"a\"", seconds(5));
  note("\"b\"", seconds(60));
  note("\"c\"", seconds(30));
  EXPECT_EQ(ledger.tasks(kChild, now), 2U);
  EXPECT_EQ(needed(), now + seconds(60)) << "the one that ends first has gone";
  for (size_t i = 0; i < 2 * ClaimLedger::kMaxStates; ++i) ledger.add_state(kChild, now);
  EXPECT_EQ(ledger.states(kChild, now), ClaimLedger::kMaxStates);
}

TEST_F(ClaimLedgerTest, StatesNeedNotEndInTheirOrder) {
  ledger.add_state(kChild, now);
  patience = seconds(2);
  ledger.add_state(kChild, now);
  EXPECT_EQ(needed(), now + seconds(10));
  now += seconds(2);
  EXPECT_EQ(ledger.states(kChild, now), 1U);
  for (size_t i = 1; i < ClaimLedger::kMaxStates; ++i) ledger.add_state(kChild, now);
  ledger.add_state(kChild, now);
  EXPECT_EQ(needed(), now + seconds(8)) << "the one that ends last is kept";
}

TEST_F(ClaimLedgerTest, ChildrenAreApart) {
  ledger.add_state(kChild, now);
  note("\"a\"", seconds(60));
  EXPECT_EQ(ledger.needed_until(kChild + 1, now), kNever);
  ledger.lose(kChild);
  EXPECT_EQ(needed(), kNever);
  EXPECT_EQ(ledger.tasks(kChild, now), 0U);
}

}  // namespace
}  // namespace stdgate::mcp
