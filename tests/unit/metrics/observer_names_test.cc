#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "gateway/observer.h"

namespace stdgate {
namespace {

// Every value has a name of its own that may stand as a label value.
template <class Enum>
void check(size_t count, std::string_view (*name)(Enum)) {
  std::set<std::string> seen;
  for (size_t i = 0; i < count; ++i) {
    const std::string text(name(static_cast<Enum>(i)));
    EXPECT_FALSE(text.empty()) << i;
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z');
    })) << text;
    EXPECT_TRUE(seen.insert(text).second) << text;
  }
}

TEST(ObserverNames, AreDistinctAndInSnakeCase) {
  check<Transport>(kTransportCount, transport_name);
  check<ConnectionKind>(kConnectionKindCount, connection_kind_name);
  check<Rejection>(kRejectionCount, rejection_name);
  check<Refusal>(kRefusalCount, refusal_name);
  check<SessionState>(kSessionStateCount, session_state_name);
  check<ParkReason>(kParkReasonCount, park_reason_name);
  check<ParkedEnd>(kParkedEndCount, parked_end_name);
  check<QuestionEnd>(kQuestionEndCount, question_end_name);
  check<ReturnEnd>(kReturnEndCount, return_end_name);
  check<RevivalOutcome>(kRevivalOutcomeCount, revival_outcome_name);
  check<Direction>(kDirectionCount, direction_name);
  check<Flow>(kFlowCount, flow_name);
  check<DropReason>(kDropReasonCount, drop_reason_name);
  check<ChildState>(kChildStateCount, child_state_name);
  check<StartReason>(kStartReasonCount, start_reason_name);
  check<ReplaceReason>(kReplaceReasonCount, replace_reason_name);
  check<HandshakeFailure>(kHandshakeFailureCount, handshake_failure_name);
  check<FetchOutcome>(kFetchOutcomeCount, fetch_outcome_name);
  check<ExitReason>(kExitReasonCount, exit_reason_name);
}

TEST(ObserverNames, FollowTheirValues) {
  EXPECT_EQ(direction_name(Direction::to_client), "to_client");
  EXPECT_EQ(flow_name(Flow::in), "in");
  EXPECT_EQ(drop_reason_name(DropReason::stray_response), "stray_response");
  EXPECT_EQ(drop_reason_name(DropReason::unknown_cancel), "unknown_cancel");
  EXPECT_EQ(child_state_name(ChildState::draining), "draining");
  EXPECT_EQ(start_reason_name(StartReason::restart), "restart");
  EXPECT_EQ(exit_reason_name(ExitReason::start_failed), "start_failed");
  EXPECT_EQ(exit_reason_name(ExitReason::broken_output), "broken_output");
}

TEST(ObserverNames, OutcomesAreAnswersThenFaults) {
  EXPECT_EQ(Outcome::ok().name(), "ok");
  EXPECT_EQ(Outcome::error().name(), "error");
  EXPECT_EQ(Outcome::tool_error().name(), "tool_error");
  EXPECT_EQ(Outcome::cancelled().name(), "cancelled");
  EXPECT_FALSE(Outcome::cancelled().is_fault());
  for (size_t i = 0; i < rpc::kFaultCount; ++i) {
    const auto fault = static_cast<rpc::Fault>(i);
    EXPECT_EQ(Outcome::of(fault).name(), rpc::fault_name(fault));
    EXPECT_TRUE(Outcome::of(fault).is_fault());
    EXPECT_LT(Outcome::of(fault).index(), Outcome::kCount);
  }
}

}  // namespace
}  // namespace stdgate
