#include <gtest/gtest.h>

#include <string>

#include "gateway/servers/routes.h"

namespace stdgate::servers {
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
