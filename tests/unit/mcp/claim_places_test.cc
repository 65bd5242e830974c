// Where states, tasks and cursors stand in messages, and where they do not.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "gateway/mcp/claims.h"

namespace stdgate::mcp {
namespace {

using Found = std::vector<std::pair<ClaimKind, std::string>>;
constexpr ClaimKind kState = ClaimKind::state;
constexpr ClaimKind kTask = ClaimKind::task;
constexpr ClaimKind kCursor = ClaimKind::cursor;

Found found(const std::vector<Claim>& claims) {
  Found all;
  for (const Claim& claim : claims) all.emplace_back(claim.kind, claim.raw);
  return all;
}

constexpr std::string_view kRelated =
    R"("_meta":{"x":1,"io.modelcontextprotocol/related-task":{"taskId":"r"}})";

std::string object(std::string_view members) { return "{" + std::string(members) + "}"; }

TEST(ClaimPlaces, OfRequests) {
  struct Case {
    std::string_view method;
    std::string params;
    Found expected;
  };
  const Case cases[] = {
      {"tools/call", "", {}},
      {"tools/call", "[]", {}},
      {"tools/call", R"({"name":"t","requestState":"s"})", {{kState, "\"s\""}}},
      {"tools/call", R"({"requestSt\u0061te":"s"})", {{kState, "\"s\""}}},
      {"tools/call", R"({"requestState":null,"arguments":{"requestState":"s","taskId":"t"}})", {}},
      {"tools/call", R"({"requestState":7,"RequestState":[]})", {{kState, "7"}, {kState, "[]"}}},
      {"tasks/get", R"({"taskId":["t"],"TASKID":"u"})", {{kTask, R"(["t"])"}, {kTask, "\"u\""}}},
      {"tools/call",
       R"({"requestState":"a","requestState":"b"})",
       {{kState, "\"a\""}, {kState, "\"b\""}}},
      {"tools/call", object(kRelated), {{kTask, "\"r\""}}},
      {"tools/call",
       R"({"inputResponses":{"q":{)" + std::string(kRelated) + "}}}",
       {{kTask, "\"r\""}}},
      {"tasks/get", R"({ "taskId" : "t\"1" })", {{kTask, R"("t\"1")"}}},
      {"tasks/update",
       R"({"taskId":"t","requestState":"s"})",
       {{kTask, "\"t\""}, {kState, "\"s\""}}},
      {"tools/call", R"({"taskId":"t"})", {}},
      {"tools/list", R"({"cursor":"c"})", {{kCursor, "\"c\""}}},
      {"tools/call", R"({"cursor":"c"})", {}},
      {"subscriptions/listen",
       R"({"notifications":{"taskIds":["a",7,"b"],"toolsListChanged":true}})",
       {{kTask, "\"a\""}, {kTask, "\"b\""}}},
      {"subscriptions/listen", R"({"notifications":{"taskIds":[]}})", {}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(found(claims_of_request(one.params, one.method)), one.expected) << one.params;
  }
}

TEST(ClaimPlaces, OfResults) {
  struct Case {
    std::string_view method;
    std::string payload;
    Found expected;
  };
  const Case cases[] = {
      {"tools/call", R"({"resultType":"input_required","requestState":"s"})", {{kState, "\"s\""}}},
      {"tools/call", R"({"requestState":"s","resultType":"input_required"})", {{kState, "\"s\""}}},
      {"tools/call", R"({"resultType":"complete","requestState":"s","taskId":"t"})", {}},
      {"tools/call", R"({"resultType":"task","taskId":"t"})", {{kTask, "\"t\""}}},
      {"tools/call", object(kRelated), {{kTask, "\"r\""}}},
      {"tools/call",
       R"({"resultType":"input_required","inputRequests":{"q":{"method":"m","params":{)" +
           std::string(kRelated) + "}}}}",
       {{kTask, "\"r\""}}},
      {"tasks/get",
       R"({"resultType":"complete","taskId":"t","status":"completed","result":{)" +
           std::string(kRelated) + "}}",
       {{kTask, "\"t\""}, {kTask, "\"r\""}}},
      {"tools/list", R"({"tools":[],"nextCursor":"c"})", {{kCursor, "\"c\""}}},
      {"tools/list", R"({"tools":[],"nextCursor":null})", {}},
      {"tools/call", R"({"nextCursor":"c"})", {}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(found(claims_of_result(one.payload, one.method)), one.expected) << one.payload;
  }
}

TEST(ClaimPlaces, OfNotifications) {
  const Found task = {{kTask, "\"t\""}};
  EXPECT_EQ(
      found(claims_of_notification(R"({"taskId":"t","status":"working"})", "notifications/tasks")),
      task);
  EXPECT_EQ(found(claims_of_notification(R"({"taskId":"t"})", "notifications/progress")), Found());
  EXPECT_EQ(found(claims_of_notification(object(kRelated), "notifications/message")),
            (Found{{kTask, "\"r\""}}));
  EXPECT_EQ(found(claims_of_notification(R"({"notifications":{"taskIds":["t"]}})",
                                         "notifications/subscriptions/acknowledged")),
            task);
}

TEST(ClaimPlaces, EditsLeaveAllElseAsItIs) {
  const std::string text = R"({ "a" : "x", "b":"y" })";
  const std::string_view view = text;
  const std::vector<TextEdit> edits = {{view.substr(8, 3), "\"longer\""},
                                       {view.substr(17, 3), "1"}};
  EXPECT_EQ(with_edits(text, edits), R"({ "a" : "longer", "b":1 })");
  EXPECT_EQ(with_edits(text, {}), text);
}

}  // namespace
}  // namespace stdgate::mcp
