#include "gateway/mcp/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stdgate::mcp {

// Claims: states, tasks and cursors that a child has given out. These tests check until when the
// child is needed for them.

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

// The places of states, tasks and cursors in messages. Equal texts in other places are no claims.

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
    const bool is_call = one.method == "tools/call" && !one.expected.empty();
    EXPECT_TRUE(!is_call || may_have_claims(read_params(one.params))) << one.params;
  }
}

// Claims are also found in other spellings, and at other places of the same member.
TEST(ClaimPlaces, AreNotedWhereParamsAreRead) {
  for (
      const std::string_view members :
      {R"("requestState":"s")", R"("requestState":7)", R"("REQUESTSTATE":[])",
       R"("requestSt\u0061te":"s")", R"("reque\u017ftState":"s")",
       R"("requestState":null,"requestState":"b")", R"("requestState":"b","RequestState":null)",
       R"("_META":{"io.modelcontextprotocol/related-task":{"taskId":"r"}})",
       R"("_met\u0061":{"io.modelcontextprotocol/related-task":{"taskId":"r"}})",
       R"("_meta":{},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"r"}})",
       R"("_meta":{"IO.modelcontextprotocol/related-task":{"TASKID":"r"}})",
       R"("_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"r"}})",
       R"("inputResponses":{"q":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"r"}}}})",
       R"("INPUTresponses":{"q":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"r"}}}})"}) {
    const std::string params = object(R"("name":"t",)" + std::string(members));
    EXPECT_FALSE(claims_of_request(params, "tools/call").empty()) << params;
    EXPECT_TRUE(may_have_claims(read_params(params))) << params;
  }
  EXPECT_FALSE(may_have_claims(
      read_params(R"({"name":"t","_meta":{"progressToken":1},"arguments":{"requestState":"s"}})")));
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
