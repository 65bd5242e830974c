#include "gateway/session/batch_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate::test {
namespace {

session::Reply reply_of(std::string_view id, std::string_view tail) {
  session::Reply reply;
  reply.head = R"({"id":)";
  reply.id = id;
  reply.tail = tail;
  return reply;
}

// A batch of two requests and a notification, which has been handed over.
session::BatchAnswer two_due(size_t limit) {
  session::BatchAnswer answer;
  answer.begin_messages(rpc::CodeSet::plain, limit);
  for (int i = 0; i < 3; ++i) answer.expect();
  answer.leave_out();
  answer.end_messages();
  return answer;
}

TEST(BatchAnswer, IsCompleteWithTheLastAnswer) {
  session::BatchAnswer answer = two_due(1000);
  answer.add(reply_of("2", R"(,"result":2})"));
  EXPECT_FALSE(answer.complete());
  answer.add(reply_of("1", R"(,"result":1})"));
  EXPECT_TRUE(answer.complete());
  EXPECT_EQ(answer.close(), R"([{"id":2,"result":2},{"id":1,"result":1}])");
}

TEST(BatchAnswer, IsNotCompleteWhileMessagesAreHandedOver) {
  session::BatchAnswer answer;
  answer.begin_messages(rpc::CodeSet::plain, 1000);
  answer.expect();
  answer.add(reply_of("1", "}"));
  EXPECT_FALSE(answer.complete());
  answer.end_messages();
  EXPECT_TRUE(answer.complete());
}

TEST(BatchAnswer, OfNothingButNotificationsIsEmpty) {
  session::BatchAnswer answer;
  answer.begin_messages(rpc::CodeSet::plain, 1000);
  answer.expect();
  answer.leave_out();
  answer.end_messages();
  EXPECT_TRUE(answer.complete());
  EXPECT_TRUE(answer.empty());
}

TEST(BatchAnswer, CancelledCallsAreLeftOut) {
  session::BatchAnswer answer = two_due(1000);
  answer.leave_out();
  answer.add(reply_of("1", "}"));
  ASSERT_TRUE(answer.complete());
  EXPECT_EQ(answer.close(), R"([{"id":1}])");
}

TEST(BatchAnswer, WhatDoesNotFitIsAnsweredByAFault) {
  const std::string tail = R"(,"result":")" + std::string(50, 'x') + "\"}";
  const size_t one = reply_of("1", tail).size();
  const size_t exactly = 1 + one + 1 + one + 1;  // [one,one]
  for (const size_t limit : {exactly, exactly - 1}) {
    session::BatchAnswer answer = two_due(limit);
    answer.add(reply_of("1", tail));
    answer.add(reply_of("2", tail));
    const std::string_view text = answer.close();
    EXPECT_EQ(text.find(R"({"id":1)"), 1u);
    EXPECT_EQ(text.find("-32007") != std::string_view::npos, limit < exactly) << limit;
    EXPECT_NE(text.find("\"id\":2"), std::string_view::npos);
    EXPECT_EQ(text.size() == exactly, limit == exactly);
  }
}

TEST(BatchAnswer, CanBeUsedAgain) {
  session::BatchAnswer answer = two_due(1000);
  answer.add(reply_of("1", "}"));
  answer.clear();
  EXPECT_TRUE(answer.complete());
  EXPECT_TRUE(answer.empty());
  EXPECT_EQ(answer.due(), 0u);
}

// The client's memory limit applies too: an answer that exceeds it is replaced by a fault.
TEST(BatchAnswer, IsChargedToItsClient) {
  Account gateway(10'000);
  Account client(gateway, 2000);
  {
    session::BatchAnswer answer;
    answer.set_payer({&client, nullptr});
    answer.begin_messages(rpc::CodeSet::plain, 100'000);
    for (int i = 0; i < 3; ++i) answer.expect();
    answer.end_messages();
    const std::string tail = ",\"result\":\"" + std::string(3000, 'x') + "\"}";
    answer.add(reply_of("1", tail));
    EXPECT_GE(client.used(), 3000U);
    answer.add(reply_of("2", tail));
    EXPECT_LT(answer.size(), 4000U);
    answer.add(reply_of("3", ",\"result\":1}"));
    EXPECT_NE(std::string(answer.close()).find("limits.buffered_per_client"), std::string::npos);
    answer.clear();
    EXPECT_EQ(client.used(), 0U);
  }
  EXPECT_EQ(gateway.used(), 0U);
}

}  // namespace
}  // namespace stdgate::test
