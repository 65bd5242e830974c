// Subscriptions: which sessions receive updates, and which requests children must receive.

#include "gateway/session/subscriptions.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

using Answer = session::Subscriptions::Answer;
using Sessions = std::vector<session::SessionId>;

constexpr session::SessionId kA{0, 1};
constexpr session::SessionId kB{1, 1};

// A subscription that the child has granted.
void subscribe(session::Subscriptions& all, session::SessionId session, std::string_view key,
               uint64_t child) {
  ASSERT_EQ(all.request(session, key), true);
  all.finish(session, key, child, Answer::granted);
}

Sessions found(const session::Subscriptions& all, uint64_t child, std::string_view key) {
  const Sessions* sessions = all.find(child, key);
  return sessions == nullptr ? Sessions() : *sessions;
}

TEST(Subscriptions, AreThoseThatAChildHasGranted) {
  session::Subscriptions all;
  ASSERT_EQ(all.request(kA, "k"), true);
  EXPECT_EQ(all.find(1, "k"), nullptr) << "not yet";
  all.finish(kA, "k", 1, Answer::granted);
  EXPECT_EQ(found(all, 1, "k"), Sessions{kA});
  EXPECT_EQ(all.find(1, "K"), nullptr);
  EXPECT_EQ(all.find(2, "k"), nullptr);
  EXPECT_TRUE(all.has_any(1));
  EXPECT_FALSE(all.has_any(2));
  EXPECT_EQ(all.request(kA, "k"), false);
  EXPECT_TRUE(all.settled());
}

TEST(Subscriptions, ARefusedOneLeavesNothing) {
  session::Subscriptions all;
  ASSERT_EQ(all.request(kA, "k"), true);
  all.finish(kA, "k", 1, Answer::refused);
  EXPECT_FALSE(all.has_any(1));
  EXPECT_TRUE(all.settled());
  EXPECT_FALSE(all.withdraw(kA, "k").known);
}

TEST(Subscriptions, OneThatMayHaveBeenGrantedIsEnded) {
  for (const uint64_t child : {uint64_t{1}, uint64_t{0}}) {
    session::Subscriptions all;
    ASSERT_EQ(all.request(kA, "k"), true);
    all.finish(kA, "k", child, Answer::unknown);
    EXPECT_FALSE(all.has_any(1));
    EXPECT_EQ(all.settled(), child == 0) << "no child, nothing to end";
    EXPECT_EQ(all.take_unwanted(1).has_value(), child == 1);
    EXPECT_TRUE(all.settled());
  }
}

TEST(Subscriptions, OnlyTheLastOneEndsIt) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  subscribe(all, kB, "k", 1);
  auto withdrawal = all.withdraw(kA, "k");
  EXPECT_TRUE(withdrawal.known);
  EXPECT_EQ(withdrawal.child, 0U);
  EXPECT_TRUE(all.settled());
  EXPECT_EQ(found(all, 1, "k"), Sessions{kB});
  EXPECT_FALSE(all.withdraw(kA, "k").known) << "once";
  withdrawal = all.withdraw(kB, "k");
  EXPECT_EQ(withdrawal.child, 1U);
  EXPECT_FALSE(all.has_any(1));
  EXPECT_FALSE(all.settled());
  EXPECT_FALSE(all.take_unwanted(2, "k"));
  EXPECT_TRUE(all.take_unwanted(1, "k"));
  EXPECT_FALSE(all.take_unwanted(1, "k"));
  EXPECT_TRUE(all.settled());
}

TEST(Subscriptions, AreWantedFromTheRequestOn) {
  session::Subscriptions all;
  EXPECT_FALSE(all.is_wanted("k"));
  ASSERT_EQ(all.request(kA, "k"), true);
  EXPECT_TRUE(all.is_wanted("k"));
  all.finish(kA, "k", 7, Answer::granted);
  subscribe(all, kA, "a", 2);
  subscribe(all, kA, "z", 2);
  EXPECT_TRUE(all.is_wanted("k"));
  EXPECT_FALSE(all.is_wanted("l"));
  all.lose_child(7);
  EXPECT_TRUE(all.is_wanted("k"));
  all.withdraw(kA, "k");
  EXPECT_FALSE(all.is_wanted("k"));
}

TEST(Subscriptions, ChildrenAreCountedApart) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  subscribe(all, kB, "k", 2);
  EXPECT_EQ(found(all, 1, "k"), Sessions{kA});
  EXPECT_EQ(found(all, 2, "k"), Sessions{kB});
  EXPECT_EQ(all.withdraw(kA, "k").child, 1U);
  EXPECT_EQ(all.take_unwanted(2), std::nullopt);
  EXPECT_EQ(all.take_unwanted(1), "k");
}

TEST(Subscriptions, NothingIsEndedWhileSomebodyAsksForIt) {
  for (const Answer answer : {Answer::granted, Answer::refused, Answer::unknown}) {
    session::Subscriptions all;
    subscribe(all, kA, "k", 1);
    subscribe(all, kA, "other", 1);
    ASSERT_EQ(all.request(kB, "k"), true);
    EXPECT_EQ(all.withdraw(kA, "k").child, 1U);
    EXPECT_EQ(all.withdraw(kA, "other").child, 1U);
    EXPECT_FALSE(all.take_unwanted(1, "k"));
    EXPECT_EQ(all.take_unwanted(1), "other");
    EXPECT_EQ(all.take_unwanted(1), std::nullopt);
    all.finish(kB, "k", 1, answer);
    if (answer == Answer::granted) {
      EXPECT_TRUE(all.settled());
      EXPECT_EQ(found(all, 1, "k"), Sessions{kB});
    } else {
      EXPECT_EQ(all.take_unwanted(1), "k");
    }
  }
}

TEST(Subscriptions, WithdrawnWhileItIsUnderWay) {
  session::Subscriptions all;
  ASSERT_EQ(all.request(kA, "k"), true);
  EXPECT_TRUE(all.withdraw(kA, "k").known);
  EXPECT_TRUE(all.withdraw(kA, "k").known) << "still under way";
  all.finish(kA, "k", 1, Answer::granted);
  EXPECT_FALSE(all.has_any(1));
  EXPECT_EQ(all.take_unwanted(1), "k");
  EXPECT_FALSE(all.withdraw(kA, "k").known);
}

TEST(Subscriptions, WithdrawnAndWantedAgainWhileItIsUnderWay) {
  for (const uint64_t second : {uint64_t{1}, uint64_t{2}}) {
    session::Subscriptions all;
    ASSERT_EQ(all.request(kA, "k"), true);
    all.withdraw(kA, "k");
    ASSERT_EQ(all.request(kA, "k"), true);
    all.finish(kA, "k", 1, Answer::granted);
    EXPECT_EQ(found(all, 1, "k"), Sessions{kA});
    all.finish(kA, "k", second, Answer::granted);
    EXPECT_EQ(found(all, 1, "k"), Sessions{kA}) << "and once only";
    EXPECT_EQ(all.take_unwanted(2).has_value(), second == 2);
    EXPECT_TRUE(all.settled());
  }
}

TEST(Subscriptions, AClosedSessionLeavesThemAll) {
  session::Subscriptions all;
  subscribe(all, kA, "one", 1);
  subscribe(all, kA, "both", 1);
  subscribe(all, kB, "both", 1);
  subscribe(all, kA, "two", 2);
  ASSERT_EQ(all.request(kA, "late"), true);
  all.close(kA);
  EXPECT_EQ(all.take_unwanted(1), "one");
  EXPECT_EQ(all.take_unwanted(1), std::nullopt);
  EXPECT_EQ(all.take_unwanted(2), "two");
  EXPECT_EQ(found(all, 1, "both"), Sessions{kB});
  all.finish(kA, "late", 1, Answer::granted);
  EXPECT_EQ(all.take_unwanted(1), "late");
  all.close(kA);
  const session::SessionId next{kA.index, kA.generation + 1};
  EXPECT_EQ(all.request(next, "one"), true) << "another session in its place";
}

TEST(Subscriptions, ALostChildIsReplaced) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  subscribe(all, kB, "k", 1);
  subscribe(all, kA, "l", 2);
  all.withdraw(kB, "nothing");
  all.lose_child(1);
  EXPECT_FALSE(all.has_any(1));
  EXPECT_FALSE(all.settled());
  EXPECT_EQ(all.request(kA, "k"), false) << "it comes back by itself";
  EXPECT_EQ(all.adopt(3), "k");
  EXPECT_EQ(all.adopt(3), std::nullopt);
  EXPECT_EQ(found(all, 3, "k"), (Sessions{kA, kB}));
  EXPECT_EQ(found(all, 2, "l"), Sessions{kA});
  EXPECT_EQ(all.withdraw(kA, "k").child, 0U);
  EXPECT_EQ(all.withdraw(kB, "k").child, 3U);
}

TEST(Subscriptions, WithAChildThatIsLostNothingIsToBeEnded) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  all.withdraw(kA, "k");
  all.lose_child(1);
  EXPECT_TRUE(all.settled());
  EXPECT_EQ(all.take_unwanted(1), std::nullopt);
}

TEST(Subscriptions, WhileThereIsNoChildTheyCanBeWithdrawn) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  subscribe(all, kB, "k", 1);
  all.lose_child(1);
  const auto withdrawal = all.withdraw(kA, "k");
  EXPECT_TRUE(withdrawal.known);
  EXPECT_EQ(withdrawal.child, 0U);
  all.close(kB);
  EXPECT_TRUE(all.settled());
  EXPECT_EQ(all.adopt(2), std::nullopt);
}

TEST(Subscriptions, AChildThatHasTheKeyIsNotAskedAgain) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  subscribe(all, kB, "k", 2);
  all.lose_child(1);
  EXPECT_EQ(all.adopt(2), std::nullopt);
  EXPECT_EQ(found(all, 2, "k"), (Sessions{kB, kA}));
  EXPECT_TRUE(all.settled());
}

TEST(Subscriptions, AChildThatWasToEndItIsAskedAgain) {
  session::Subscriptions all;
  subscribe(all, kA, "k", 1);
  ASSERT_EQ(all.request(kB, "k"), true);
  all.finish(kB, "k", 2, Answer::unknown);
  all.lose_child(1);
  EXPECT_EQ(all.adopt(2), "k") << "it may not have the key";
  EXPECT_EQ(all.take_unwanted(2), std::nullopt);
}

TEST(Subscriptions, AreBounded) {
  session::Subscriptions all;
  const std::string longest(session::Subscriptions::kMaxKey, 'k');
  EXPECT_EQ(all.request(kA, longest + "k").error().fault, rpc::Fault::too_large);
  EXPECT_EQ(all.request(kA, longest), true);
  for (size_t i = 1; i < session::Subscriptions::kMaxPerSession; ++i) {
    ASSERT_EQ(all.request(kA, std::to_string(i)), true);
  }
  EXPECT_EQ(all.request(kA, "more").error().fault, rpc::Fault::overloaded);
  EXPECT_EQ(all.request(kA, longest), true) << "no new one";
  EXPECT_EQ(all.request(kB, "more"), true);
  all.finish(kA, "1", 1, Answer::refused);
  EXPECT_EQ(all.request(kA, "more"), true) << "one was refused";
}

TEST(Subscriptions, ManySessionsThatHaveAllTheyMayLeaveTheOthersTheirs) {
  session::Subscriptions all;
  constexpr uint32_t kGreedy = 100;
  for (uint32_t session = 0; session < kGreedy; ++session) {
    for (size_t i = 0; i < session::Subscriptions::kMaxPerSession; ++i) {
      subscribe(all, session::SessionId{session, 2}, std::to_string(i), 1);
    }
    ASSERT_EQ(all.request(session::SessionId{session, 2}, "more").error().fault,
              rpc::Fault::overloaded);
  }
  EXPECT_EQ(all.request(session::SessionId{kGreedy, 2}, "k"), true);
}

TEST(Subscriptions, TheirBytesAreBounded) {
  session::Subscriptions all;
  constexpr size_t kFit =
      session::Subscriptions::kMaxBytesPerSession / session::Subscriptions::kMaxKey;
  const auto key = [](size_t i) {
    std::string text = std::to_string(i);
    return text.append(session::Subscriptions::kMaxKey - text.size(), 'k');
  };
  for (size_t i = 0; i < kFit; ++i) ASSERT_EQ(all.request(kA, key(i)), true);
  EXPECT_EQ(all.request(kA, "x").error().fault, rpc::Fault::overloaded) << "one byte more";
  EXPECT_EQ(all.request(kA, key(0)), true) << "no new one";
  EXPECT_EQ(all.request(kB, "x"), true);
  all.finish(kA, key(1), 1, Answer::refused);
  EXPECT_EQ(all.request(kA, key(kFit)), true) << "one was refused";
}

TEST(Subscriptions, WhatIsToBeEndedIsBounded) {
  session::Subscriptions all;
  for (size_t i = 0; i < session::Subscriptions::kMaxUnwanted + 1; ++i) {
    ASSERT_EQ(all.request(kA, std::to_string(i)), true);
    all.finish(kA, std::to_string(i), 1, Answer::unknown);
  }
  size_t count = 0;
  while (all.take_unwanted(1)) ++count;
  EXPECT_EQ(count, session::Subscriptions::kMaxUnwanted);
}

}  // namespace
}  // namespace stdgate
