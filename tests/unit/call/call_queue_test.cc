#include "gateway/call/call_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace stdgate {
namespace {

class CallQueueTest : public testing::Test {
 protected:
  call::Call* push(const std::string& text = "text") {
    call::CallPtr call = calls_.take();
    call->id = std::to_string(++pushed_);
    call::Call* pushed = call.get();
    call::Outgoing message;
    message.text = text;
    queue_.push(std::move(call), message);
    return pushed;
  }
  void push_notification() {
    call::Outgoing message;
    message.text = "note";
    queue_.push(nullptr, message);
  }

  config::PoolConfig config_;
  call::CallStore calls_;
  call::CallQueue queue_{config_};
  int pushed_ = 0;
};

TEST_F(CallQueueTest, WhatIsTakenOutOfTheMiddleIsSkipped) {
  call::Call* first = push();
  call::Call* second = push("longer text");
  push_notification();
  call::Call* third = push();
  EXPECT_EQ(queue_.size(), 4U);
  EXPECT_EQ(queue_.bytes(), 4U + 11U + 4U + 4U);
  EXPECT_EQ(queue_.take(*second).get(), second);
  EXPECT_EQ(second->place, call::CallPlace::nowhere);
  EXPECT_EQ(queue_.size(), 3U);
  EXPECT_EQ(queue_.bytes(), 12U);
  EXPECT_EQ(queue_.pop().call.get(), first);
  EXPECT_EQ(queue_.pop().call, nullptr);
  EXPECT_EQ(queue_.take(*third).get(), third);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.bytes(), 0U);
}

TEST_F(CallQueueTest, KeepsItsOrderAndItsPlacesThroughAnyHistory) {
  std::mt19937_64 random(5);
  std::deque<call::Call*> expected;
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t dice = random() % 10;
    // The first call stays for long, so that gaps gather behind it.
    if (dice < 5 || expected.empty()) {
      expected.push_back(push());
    } else if (dice < 9) {
      const size_t at = expected.size() == 1 ? 0 : 1 + random() % (expected.size() - 1);
      ASSERT_EQ(queue_.take(*expected[at]).get(), expected[at]);
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (random() % 50 == 0) {
      ASSERT_EQ(queue_.pop().call.get(), expected.front());
      expected.pop_front();
    }
    ASSERT_EQ(queue_.size(), expected.size());
    ASSERT_EQ(queue_.bytes(), 4 * expected.size());
  }
  for (call::Call* call : expected) ASSERT_EQ(queue_.pop().call.get(), call);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(CallQueueTest, AllThatMatchAreTakenInOrder) {
  for (int i = 0; i < 10; ++i) push();
  const auto taken =
      queue_.take_all([](const call::Call& call) { return call.id.back() % 2 == 0; });
  ASSERT_EQ(taken.size(), 5U);
  EXPECT_EQ(taken.front()->id, "2");
  EXPECT_EQ(queue_.size(), 5U);
  EXPECT_EQ(queue_.pop().call->id, "1");
  EXPECT_EQ(queue_.pop().call->id, "3");
}

TEST_F(CallQueueTest, WhatCannotGoIsPassedOver) {
  using Choice = call::CallQueue::Choice;
  call::Call* const first = push();
  call::Call* const second = push();
  push_notification();
  call::Call* const third = push();
  const auto none_but = [](const call::Call* wanted) {
    return [wanted](const call::Call* call) {
      return call == wanted ? Choice::take : Choice::pass_over;
    };
  };
  EXPECT_EQ(queue_.pop_first(none_but(second))->call.get(), second);
  queue_.check_invariants();
  EXPECT_EQ(queue_.pop_first(none_but(nullptr))->bytes, "note");
  EXPECT_FALSE(queue_.pop_first(none_but(nullptr)));
  EXPECT_FALSE(queue_.pop_first([&](const call::Call* call) {
    return call == first ? Choice::stop : Choice::take;
  })) << "nothing behind it either";
  EXPECT_EQ(queue_.pop_first(none_but(third))->call.get(), third);
  queue_.check_invariants();
  EXPECT_EQ(queue_.pop().call.get(), first);
  for (size_t i = 0; i < call::CallQueue::kMaxPassed; ++i) push();
  EXPECT_TRUE(queue_.pop_first(none_but(push())).has_value());
  push();
  EXPECT_FALSE(queue_.pop_first(none_but(push()))) << "too many before it";
}

TEST_F(CallQueueTest, ACallOfAnotherQueueIsABugThatEndsTheProcess) {
  call::CallQueue other{config_};
  call::Call* call = push();
  EXPECT_DEATH(other.take(*call), "check failed: .*call_queue.cc:[0-9]+: at < waiting_.size");
  EXPECT_DEATH(other.pop(), "check failed: .*!empty\\(\\)");
}

}  // namespace
}  // namespace stdgate
