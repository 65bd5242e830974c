#include "gateway/servers/routes.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/rpc/message_text.h"

namespace stdgate::servers {

// TaskNames: which tasks are forgotten when there are too many.

namespace {

class TaskNamesTest : public testing::Test {
 protected:
  void give(const std::string& owner, size_t task) {
    const rpc::KnownMessage message(R"({"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":")" +
                                    std::to_string(task) + R"("}}})");
    names_.shown(message.envelope(), {0, member_}, owner);
  }
  [[nodiscard]] bool has(const std::string& owner, size_t task) const {
    return names_.find(owner, std::to_string(task)) != nullptr;
  }

  const std::string member_ = "a";
  TaskNames names_{Payer{}};
};

TEST_F(TaskNamesTest, OfOneOwnerTheOldestIsForgotten) {
  for (size_t i = 0; i < TaskNames::kMaxTasks; ++i) give("ada", i);
  EXPECT_TRUE(has("ada", 0));
  give("ada", TaskNames::kMaxTasks);
  EXPECT_FALSE(has("ada", 0));
  EXPECT_TRUE(has("ada", 1));
  EXPECT_TRUE(has("ada", TaskNames::kMaxTasks));
}

TEST_F(TaskNamesTest, AClientWithManyTakesNobodyElses) {
  give("ada", 1);
  for (size_t i = 0; i < 2 * TaskNames::kMaxTasks; ++i) give("mallory", i);
  EXPECT_TRUE(has("ada", 1));
  EXPECT_FALSE(has("mallory", 0));
}

}  // namespace

namespace {

TEST(UriTemplate, ExpressionsStandForWhatTheyCan) {
  EXPECT_TRUE(matches_template("demo://text/{id}", "demo://text/7"));
  EXPECT_TRUE(matches_template("demo://{kind}/{id}.txt", "demo://text/7.txt"));
  EXPECT_FALSE(matches_template("demo://text/{id}", "demo://text/7/8"));
  EXPECT_TRUE(matches_template("file:///{+path}", "file:///a/b/c"));
  EXPECT_TRUE(matches_template("file:///{path*}", "file:///a/b/c"));
  EXPECT_TRUE(matches_template("q://a{?x,y}", "q://a?x=1&y=2"));
  EXPECT_TRUE(matches_template("q://a{?x}", "q://a"));
  EXPECT_FALSE(matches_template("demo://text/{id}", "demo://image/7"));
  EXPECT_TRUE(matches_template("plain://x", "plain://x"));
  EXPECT_FALSE(matches_template("plain://x", "plain://xy"));
  EXPECT_TRUE(matches_template("odd://{", "odd://{"));
  EXPECT_FALSE(matches_template("", "a"));
}

TEST(UriTemplate, ManyExpressionsTakeNoLongerThanTheyMay) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += "a{x}";
  EXPECT_FALSE(matches_template(many, std::string(5000, 'a') + "/"));
}

}  // namespace

}  // namespace stdgate::servers
