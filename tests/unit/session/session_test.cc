#include "gateway/session/session.h"

#include <gtest/gtest.h>

#include <memory>

namespace stdgate::session {

namespace {

class AsksTest : public testing::Test {
 protected:
  AskIndex index_;
  Session one_;
  Session other_;
  Asks of_one_{index_, one_};
  std::unique_ptr<Asks> of_other_ = std::make_unique<Asks>(index_, other_);
};

TEST_F(AsksTest, AreFoundByTheIdsOfTheirChildren) {
  const auto first = of_one_.open({7, "\"a\"", 0});
  const auto second = of_other_->open({7, "1", 0});
  ASSERT_TRUE(first && second);
  const auto found = index_.find(7, "1");
  ASSERT_TRUE(found);
  EXPECT_EQ(&found->asks->session(), &other_);
  EXPECT_EQ(found->id, *second);
  EXPECT_EQ(index_.find(7, "\"a\"")->id, *first);
  EXPECT_FALSE(index_.find(8, "1")) << "another child's";
  EXPECT_FALSE(index_.find(7, "2"));
  EXPECT_EQ(of_other_->close(*second, QuestionEnd::answered).id, "1");
  EXPECT_FALSE(index_.find(7, "1"));
}

TEST_F(AsksTest, AnIdThatIsUsedTwiceIsFoundTwice) {
  const auto first = of_one_.open({7, "1", 0});
  of_other_->open({7, "1", 0});
  const auto found = index_.find(7, "1");
  ASSERT_TRUE(found);
  found->asks->close(found->id, QuestionEnd::answered);
  const auto again = index_.find(7, "1");
  ASSERT_TRUE(again);
  EXPECT_NE(again->asks, found->asks);
  EXPECT_TRUE(first.has_value());
}

TEST_F(AsksTest, EndWithTheirChild) {
  for (const char* id : {"1", "2", "3"}) of_one_.open({7, id, 0});
  of_one_.open({8, "1", 0});
  of_other_->open({7, "4", 0});
  index_.lose_child(7);
  EXPECT_EQ(of_one_.size(), 1U);
  EXPECT_EQ(of_other_->size(), 0U);
  EXPECT_TRUE(index_.find(8, "1"));
  EXPECT_EQ(index_.size(), 1U);
}

TEST(Asks, AreInTheAccountOfTheirClient) {
  Account gateway(1 << 20);
  Account client(gateway, 5000);
  AskIndex index;
  Session session;
  session.held = Share({&client, nullptr}, Holding::sessions);
  {
    Asks asks(index, session);
    const auto with_notes = [](size_t size) {
      Ask ask{7, "1", 0};
      ask.notes = std::make_unique<AskNotes>();
      ask.notes->title.assign(size, 'x');
      return ask;
    };
    const auto small = asks.open({7, "1", 0});
    ASSERT_TRUE(small);
    EXPECT_GE(client.used(), sizeof(Ask));
    const size_t before = client.used();
    const auto noted = asks.open(with_notes(1000));
    ASSERT_TRUE(noted);
    EXPECT_GE(client.used(), before + sizeof(AskNotes) + 1000);
    asks.at(*noted).notes->option.assign(100, 'o');
    asks.close(*noted, QuestionEnd::answered);
    EXPECT_EQ(client.used(), before);
    size_t opened = 0;
    while (asks.open(with_notes(1000))) ++opened;
    EXPECT_TRUE(client.is_beyond_bound());
    EXPECT_LE(opened, 5U);
    asks.close(*small, QuestionEnd::answered);
    EXPECT_EQ(client.is_beyond_bound(), !asks.open({7, "1", 0}).has_value());
  }
  EXPECT_EQ(gateway.used(), 0U);
}

TEST_F(AsksTest, EndWithTheirSession) {
  of_other_->open({7, "1", 0});
  of_other_->open({7, "2", 0});
  of_other_.reset();
  EXPECT_EQ(index_.size(), 0U);
}

TEST_F(AsksTest, ThoseOfNoChildAreNotFoundByOne) {
  EXPECT_TRUE(of_one_.open({0, "key", 12}));
  EXPECT_EQ(index_.size(), 0U);
  EXPECT_EQ(of_one_.size(), 1U);
}

TEST_F(AsksTest, AreBounded) {
  for (size_t i = 0; i < Asks::kMaxAsks; ++i) EXPECT_TRUE(of_one_.open({7, "1", 0}));
  EXPECT_FALSE(of_one_.open({7, "1", 0}));
  EXPECT_EQ(index_.size(), Asks::kMaxAsks);
}

}  // namespace

}  // namespace stdgate::session

namespace stdgate {

// The limits of sessions of each kind.

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
