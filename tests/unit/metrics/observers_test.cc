// Each observer is told of the events that it overrides, and of no others.
#include "metrics/observers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "gateway/observer.h"

namespace stdgate {

namespace {

class StrictObserver : public Observer {
 public:
  MOCK_METHOD(void, on_backend, (BackendId, std::string_view), (override));
  MOCK_METHOD(void, on_method, (BackendId, MethodId, std::string_view), (override));
  MOCK_METHOD(void, on_tool, (BackendId, ToolId, std::string_view), (override));
  MOCK_METHOD(void, on_call_started, (BackendId), (override));
  MOCK_METHOD(void, on_call_finished, (const CallRecord&), (override));
  MOCK_METHOD(void, on_message, (BackendId, Direction, std::span<const std::string_view>),
              (override));
  MOCK_METHOD(void, on_notification, (BackendId, MethodId, Direction), (override));
  MOCK_METHOD(void, on_dropped, (BackendId, DropReason), (override));
  MOCK_METHOD(void, on_child_state, (BackendId, ChildState, ChildState), (override));
  MOCK_METHOD(void, on_child_started, (BackendId, StartReason), (override));
  MOCK_METHOD(void, on_child_ready, (BackendId, Duration), (override));
  MOCK_METHOD(void, on_child_exited, (BackendId, ExitReason), (override));
  MOCK_METHOD(void, on_child_replaced, (BackendId, ReplaceReason), (override));
  MOCK_METHOD(void, on_replacement_waits, (BackendId, ReplaceReason), (override));
  MOCK_METHOD(void, on_session_opened, (BackendId), (override));
  MOCK_METHOD(void, on_breaker, (BackendId, bool), (override));
  MOCK_METHOD(void, on_session_places, (BackendId, uint32_t), (override));
  MOCK_METHOD(void, on_session_state, (BackendId, SessionState, SessionState), (override));
  MOCK_METHOD(void, on_session_parked, (BackendId, ParkReason), (override));
  MOCK_METHOD(void, on_call_parked, (BackendId), (override));
  MOCK_METHOD(void, on_question_asked, (BackendId), (override));
  MOCK_METHOD(void, on_question_ended, (BackendId, MethodId, QuestionEnd, Duration), (override));
  MOCK_METHOD(void, on_parked_call_ended, (BackendId, ParkedEnd), (override));
  MOCK_METHOD(void, on_return, (BackendId, ReturnEnd), (override));
  MOCK_METHOD(void, on_cache_hit, (BackendId), (override));
  MOCK_METHOD(void, on_remembered, (BackendId), (override));
  MOCK_METHOD(void, on_check_failed, (BackendId, CheckFailure), (override));
  MOCK_METHOD(void, on_pins, (BackendId, PinState, int64_t), (override));
  MOCK_METHOD(void, on_session_revived, (BackendId, RevivalOutcome, Duration), (override));
  MOCK_METHOD(void, on_session_closed, (BackendId, SessionState), (override));
  MOCK_METHOD(void, on_connection_opened, (ConnectionKind), (override));
  MOCK_METHOD(void, on_connection_closed, (ConnectionKind), (override));
  MOCK_METHOD(void, on_bytes, (ConnectionKind, Flow, size_t), (override));
  MOCK_METHOD(void, on_refused, (Refusal), (override));
  MOCK_METHOD(void, on_handshake_failed, (HandshakeFailure), (override));
  MOCK_METHOD(void, on_keys_fetched, (FetchOutcome), (override));
};

// Observers that override one event or two, and are told of these only.
class CallsOnly : public Observer {
 public:
  MOCK_METHOD(void, on_call_finished, (const CallRecord&), (override));
};
class MessagesOnly : public Observer {
 public:
  MOCK_METHOD(void, on_backend, (BackendId, std::string_view), (override));
  MOCK_METHOD(void, on_message, (BackendId, Direction, std::span<const std::string_view>),
              (override));
};
class DropsOnly : public Observer {
 public:
  void on_dropped(BackendId /*backend*/, DropReason /*reason*/) override { ++dropped; }
  int dropped = 0;
};
// Events that a base class overrides count too.
class MoreThanDrops final : public DropsOnly {
 public:
  void on_refused(Refusal /*refusal*/) override { ++refused; }
  int refused = 0;
};

TEST(Observers, HearWhatTheyOverride) {
  testing::StrictMock<StrictObserver> first;
  testing::StrictMock<StrictObserver> second;
  testing::StrictMock<CallsOnly> of_calls;
  testing::StrictMock<MessagesOnly> of_messages;
  DropsOnly of_drops;
  MoreThanDrops of_more;
  Observers observers;
  observers.add(first);
  observers.add(of_calls);
  observers.add(of_messages);
  observers.add(of_drops);
  observers.add(of_more);
  observers.add(second);
  const CallRecord call;
  EXPECT_CALL(of_calls, on_call_finished(testing::Ref(call)));
  EXPECT_CALL(of_messages, on_backend(1, std::string_view("calc")));
  EXPECT_CALL(of_messages, on_message(1, Direction::to_child, testing::SizeIs(1)));
  for (auto* observer : {&first, &second}) {
    EXPECT_CALL(*observer, on_backend(1, std::string_view("calc")));
    EXPECT_CALL(*observer, on_method(1, 2, std::string_view("echo")));
    EXPECT_CALL(*observer, on_tool(1, 3, std::string_view("add")));
    EXPECT_CALL(*observer, on_call_started(1));
    EXPECT_CALL(*observer, on_call_finished(testing::Ref(call)));
    EXPECT_CALL(*observer, on_message(1, Direction::to_child, testing::SizeIs(1)));
    EXPECT_CALL(*observer, on_notification(1, 2, Direction::to_client));
    EXPECT_CALL(*observer, on_dropped(1, DropReason::not_rpc));
    EXPECT_CALL(*observer, on_child_state(1, ChildState::ready, ChildState::busy));
    EXPECT_CALL(*observer, on_child_started(1, StartReason::demand));
    EXPECT_CALL(*observer, on_child_ready(1, Duration(3)));
    EXPECT_CALL(*observer, on_child_exited(1, ExitReason::hung));
    EXPECT_CALL(*observer, on_child_replaced(1, ReplaceReason::memory));
    EXPECT_CALL(*observer, on_replacement_waits(1, ReplaceReason::memory));
    EXPECT_CALL(*observer, on_session_opened(1));
    EXPECT_CALL(*observer, on_breaker(1, true));
    EXPECT_CALL(*observer, on_session_places(1, 4));
    EXPECT_CALL(*observer, on_session_state(1, SessionState::live, SessionState::parked));
    EXPECT_CALL(*observer, on_session_parked(1, ParkReason::idle));
    EXPECT_CALL(*observer, on_question_asked(1));
    EXPECT_CALL(*observer, on_question_ended(1, 2, QuestionEnd::expired, Duration(4)));
    EXPECT_CALL(*observer, on_call_parked(1));
    EXPECT_CALL(*observer, on_parked_call_ended(1, ParkedEnd::expired));
    EXPECT_CALL(*observer, on_return(1, ReturnEnd::lost));
    EXPECT_CALL(*observer, on_cache_hit(1));
    EXPECT_CALL(*observer, on_remembered(1));
    EXPECT_CALL(*observer, on_check_failed(1, CheckFailure::result));
    EXPECT_CALL(*observer, on_pins(1, PinState::changed, -2));
    EXPECT_CALL(*observer, on_session_revived(1, RevivalOutcome::failed, Duration{2}));
    EXPECT_CALL(*observer, on_session_closed(1, SessionState::parked));
    EXPECT_CALL(*observer, on_connection_opened(ConnectionKind::http));
    EXPECT_CALL(*observer, on_connection_closed(ConnectionKind::http));
    EXPECT_CALL(*observer, on_bytes(ConnectionKind::http, Flow::out, 5));
    EXPECT_CALL(*observer, on_refused(Refusal::gone));
    EXPECT_CALL(*observer, on_handshake_failed(HandshakeFailure::left));
    EXPECT_CALL(*observer, on_keys_fetched(FetchOutcome::timeout));
  }
  observers.on_backend(1, "calc");
  observers.on_method(1, 2, "echo");
  observers.on_tool(1, 3, "add");
  observers.on_call_started(1);
  observers.on_call_finished(call);
  const std::string_view text = "{}";
  observers.on_message(1, Direction::to_child, {&text, 1});
  observers.on_notification(1, 2, Direction::to_client);
  observers.on_dropped(1, DropReason::not_rpc);
  observers.on_child_state(1, ChildState::ready, ChildState::busy);
  observers.on_child_started(1, StartReason::demand);
  observers.on_child_ready(1, Duration(3));
  observers.on_child_exited(1, ExitReason::hung);
  observers.on_child_replaced(1, ReplaceReason::memory);
  observers.on_replacement_waits(1, ReplaceReason::memory);
  observers.on_session_opened(1);
  observers.on_breaker(1, true);
  observers.on_session_places(1, 4);
  observers.on_session_state(1, SessionState::live, SessionState::parked);
  observers.on_session_parked(1, ParkReason::idle);
  observers.on_question_asked(1);
  observers.on_question_ended(1, 2, QuestionEnd::expired, Duration(4));
  observers.on_call_parked(1);
  observers.on_parked_call_ended(1, ParkedEnd::expired);
  observers.on_return(1, ReturnEnd::lost);
  observers.on_cache_hit(1);
  observers.on_remembered(1);
  observers.on_check_failed(1, CheckFailure::result);
  observers.on_pins(1, PinState::changed, -2);
  observers.on_session_revived(1, RevivalOutcome::failed, Duration{2});
  observers.on_session_closed(1, SessionState::parked);
  observers.on_connection_opened(ConnectionKind::http);
  observers.on_connection_closed(ConnectionKind::http);
  observers.on_bytes(ConnectionKind::http, Flow::out, 5);
  observers.on_refused(Refusal::gone);
  observers.on_handshake_failed(HandshakeFailure::left);
  observers.on_keys_fetched(FetchOutcome::timeout);
  EXPECT_EQ(of_drops.dropped, 1);
  EXPECT_EQ(of_more.dropped, 1);
  EXPECT_EQ(of_more.refused, 1);
}

}  // namespace

namespace {

// Every value has a unique name, which is a valid label value.
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
