// How many sessions there may be of each kind.
#include <gtest/gtest.h>

#include "gateway/session/session.h"

namespace stdgate {
namespace {

using session::SessionKind;
using session::SessionTable;

constexpr SessionKind kKinds[] = {SessionKind::client, SessionKind::trip, SessionKind::watch};

TEST(SessionTable, EachKindHasItsOwnLimit) {
  SessionTable table({3, 2, 1});
  size_t limit = 3;
  for (const SessionKind kind : kKinds) {
    session::SessionId last;
    for (size_t i = 0; i < limit; ++i) {
      const auto id = table.open(kind);
      ASSERT_TRUE(id.has_value());
      EXPECT_EQ(table.find(*id)->kind, kind);
      last = *id;
    }
    EXPECT_EQ(table.size(kind), limit);
    EXPECT_FALSE(table.open(kind).has_value());
    table.close(last);
    EXPECT_EQ(table.find(last), nullptr);
    EXPECT_EQ(table.size(kind), limit - 1);
    EXPECT_TRUE(table.open(kind).has_value());
    --limit;
  }
  size_t all = 0;
  table.for_each([&all](session::SessionId, const session::Session&) { ++all; });
  EXPECT_EQ(all, 6U);
}

TEST(SessionTable, ASlotThatIsUsedAgainKeepsNothing) {
  SessionTable table({1, 1, 1});
  const auto watch = table.open(SessionKind::watch);
  table.find(*watch)->label = "old";
  table.find(*watch)->has_ended = true;
  table.close(*watch);
  for (const SessionKind kind : kKinds) {
    const auto id = table.open(kind);
    EXPECT_EQ(table.find(*id)->label, "");
    EXPECT_FALSE(table.find(*id)->has_ended);
  }
}

}  // namespace
}  // namespace stdgate
