// The names of the observer's enums: metric labels and log values, constant and in snake case.
#include "gateway/observer.h"

#include <array>

namespace stdgate {
namespace {

// Indexed by the enum's value; std::array makes a forgotten name an empty one, which the tests see.
constexpr std::array<std::string_view, kTransportCount> kTransportNames = {"rpc", "sse", "mcp",
                                                                           "websocket"};

constexpr std::array<std::string_view, kPeerKindCount> kEraNames = {"legacy", "modern"};

constexpr std::array<std::string_view, kSessionStateCount> kSessionStateNames = {"live", "parked",
                                                                                 "reviving"};

constexpr std::array<std::string_view, kParkReasonCount> kParkReasonNames = {
    "idle", "place_needed", "child_ended", "taken_over", "replaced"};

constexpr std::array<std::string_view, kParkedEndCount> kParkedEndNames = {
    "resumed", "expired", "stopped", "given_up", "failed"};

constexpr std::array<std::string_view, kReturnEndCount> kReturnEndNames = {"returned", "unknown",
                                                                           "expired", "lost"};

constexpr std::array<std::string_view, kRevivalOutcomeCount> kRevivalOutcomeNames = {
    "same", "changed", "unknown", "failed", "other_revision"};

constexpr std::array<std::string_view, kConnectionKindCount> kConnectionKindNames = {"http",
                                                                                     "websocket"};

constexpr std::array<std::string_view, kRefusalCount> kRefusalNames = {"bad_head",
                                                                       "tls_on_plain_port",
                                                                       "bad_body",
                                                                       "bad_request",
                                                                       "unauthorized",
                                                                       "bad_origin",
                                                                       "bad_host",
                                                                       "cross_site",
                                                                       "forbidden",
                                                                       "not_found",
                                                                       "unknown_session",
                                                                       "method_not_allowed",
                                                                       "not_acceptable",
                                                                       "timeout",
                                                                       "gone",
                                                                       "too_large",
                                                                       "uri_too_long",
                                                                       "headers_too_large",
                                                                       "unsupported_media_type",
                                                                       "expectation_failed",
                                                                       "upgrade_required",
                                                                       "rate_limited",
                                                                       "not_implemented",
                                                                       "version_not_supported",
                                                                       "overloaded",
                                                                       "other"};

constexpr std::array<std::string_view, kRejectionCount> kRejectionNames = {
    "denied",  "insufficient_scope", "rate", "in_flight", "sessions", "clients", "memory",
    "unpinned"};

constexpr std::array<std::string_view, kPinStateCount> kPinStateNames = {"pinned", "new",
                                                                         "changed"};

constexpr std::array<std::string_view, kCheckFailureCount> kCheckFailureNames = {
    "arguments", "result", "schema"};

constexpr std::array<std::string_view, kHandshakeFailureCount> kHandshakeFailureNames = {
    "plain_http",
    "malformed",
    "version",
    "no_shared_cipher",
    "no_shared_protocol",
    "no_client_certificate",
    "bad_client_certificate",
    "refused_by_client",
    "left",
    "timeout",
    "other"};

constexpr std::array<std::string_view, kFetchOutcomeCount> kFetchOutcomeNames = {
    "ok",         "unreachable", "untrusted",   "timeout",     "redirected",
    "bad_status", "too_large",   "bad_content", "wrong_issuer"};

constexpr std::array<std::string_view, Outcome::kAnswers> kAnswerNames = {
    "ok",        "error",   "tool_error", "cancelled",
    "other_era", "refusal", "max_tokens", "max_turn_requests"};

constexpr std::array<std::string_view, kQuestionEndCount> kQuestionEndNames = {
    "answered", "refused", "expired", "withdrawn", "left", "lost"};

constexpr std::array<std::string_view, kDirectionCount> kDirectionNames = {"to_child", "to_client"};

constexpr std::array<std::string_view, kFlowCount> kFlowNames = {"in", "out"};

constexpr std::array<std::string_view, kDropReasonCount> kDropReasonNames = {
    "not_json",    "not_rpc",    "oversized",   "unknown_id",     "no_listener", "unknown_cancel",
    "caller_gone", "overloaded", "outbox_full", "stray_response", "denied"};

constexpr std::array<std::string_view, kChildStateCount> kChildStateNames = {
    "starting", "ready", "busy", "draining", "dead"};

constexpr std::array<std::string_view, kStartReasonCount> kStartReasonNames = {
    "minimum", "demand", "restart", "successor"};

constexpr std::array<std::string_view, kReplaceReasonCount> kReplaceReasonNames = {"age", "calls",
                                                                                   "memory"};

constexpr std::array<std::string_view, kExitReasonCount> kExitReasonNames = {
    "asked",        "exit_zero",     "exit_nonzero", "signal",
    "start_failed", "start_timeout", "hung",         "broken_output"};

template <size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  return names.at(static_cast<size_t>(value));
}

}  // namespace

std::string_view transport_name(Transport transport) { return name_in(kTransportNames, transport); }

std::string_view peer_kind_name(PeerKind peer_kind) { return name_in(kEraNames, peer_kind); }

std::string_view session_state_name(SessionState state) {
  return name_in(kSessionStateNames, state);
}

std::string_view park_reason_name(ParkReason reason) { return name_in(kParkReasonNames, reason); }

std::string_view parked_end_name(ParkedEnd end) { return name_in(kParkedEndNames, end); }
std::string_view return_end_name(ReturnEnd end) { return name_in(kReturnEndNames, end); }

std::string_view revival_outcome_name(RevivalOutcome outcome) {
  return name_in(kRevivalOutcomeNames, outcome);
}

std::string_view connection_kind_name(ConnectionKind kind) {
  return name_in(kConnectionKindNames, kind);
}

std::string_view refusal_name(Refusal refusal) { return name_in(kRefusalNames, refusal); }

std::string_view handshake_failure_name(HandshakeFailure failure) {
  return name_in(kHandshakeFailureNames, failure);
}

std::string_view fetch_outcome_name(FetchOutcome outcome) {
  return name_in(kFetchOutcomeNames, outcome);
}

std::string_view direction_name(Direction direction) { return name_in(kDirectionNames, direction); }

std::string_view flow_name(Flow flow) { return name_in(kFlowNames, flow); }

std::string_view rejection_name(Rejection rejection) { return name_in(kRejectionNames, rejection); }

std::string_view pin_state_name(PinState state) { return name_in(kPinStateNames, state); }

std::string_view check_failure_name(CheckFailure failure) {
  return name_in(kCheckFailureNames, failure);
}

std::string_view drop_reason_name(DropReason reason) { return name_in(kDropReasonNames, reason); }

std::string_view child_state_name(ChildState state) { return name_in(kChildStateNames, state); }

std::string_view start_reason_name(StartReason reason) {
  return name_in(kStartReasonNames, reason);
}

std::string_view replace_reason_name(ReplaceReason reason) {
  return name_in(kReplaceReasonNames, reason);
}

std::string_view question_end_name(QuestionEnd end) { return name_in(kQuestionEndNames, end); }

std::string_view exit_reason_name(ExitReason reason) { return name_in(kExitReasonNames, reason); }

std::string_view Outcome::name() const {
  if (index_ < kAnswerNames.size()) return kAnswerNames.at(index_);
  return rpc::fault_name(static_cast<rpc::Fault>(index_ - kAnswerNames.size()));
}

}  // namespace stdgate
