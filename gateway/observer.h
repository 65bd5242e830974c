// Observer: hears the events of core and transports, to count or log them. An observer is called
// only for the events that it overrides (metrics/observers.h); the core names no metrics library.
//
// Contract: called on the loop's thread, must not call back, must not block, must not throw. Ids
// are small and dense, given by on_backend(), on_method() and on_tool() before their first use, so
// that an observer resolves its own handles once. Views are valid during the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/base/addresses.h"
#include "gateway/base/log.h"
#include "gateway/base/time.h"
#include "gateway/base/trace_context.h"
#include "gateway/rpc/fault.h"

namespace stdgate {

using BackendId = uint16_t;
// The places of names in the bounded tables of a backend.
using NameId = uint16_t;
inline constexpr NameId kOtherName = 0;  // "_other": names without a place
using MethodId = NameId;
inline constexpr MethodId kOtherMethod = kOtherName;
using ToolId = NameId;  // elements that a protocol calls tools
inline constexpr ToolId kOtherTool = kOtherName;

// How a call came in: by /rpc (with its event streams), by MCP's transport of 2024-11-05 at /sse,
// by /mcp, or by a WebSocket.
enum class Transport : uint8_t { rpc, sse, mcp, websocket };
inline constexpr size_t kTransportCount = static_cast<size_t>(Transport::websocket) + 1;
std::string_view transport_name(Transport transport);

// The kind of a peer, a client or a child. stateful: it speaks revisions of its protocol with a
// handshake and sessions. stateless: in its revisions every request stands alone.
enum class PeerKind : uint8_t { stateful, stateless };
inline constexpr size_t kPeerKindCount = static_cast<size_t>(PeerKind::stateless) + 1;
std::string_view peer_kind_name(PeerKind peer_kind);

// Whether a session has a child: it has one or has been promised one, it has none, or it is about
// to get another one.
enum class SessionState : uint8_t { live, parked, reviving };
inline constexpr size_t kSessionStateCount = static_cast<size_t>(SessionState::reviving) + 1;
std::string_view session_state_name(SessionState state);

// Why a child was replaced: which limit it has reached (pool.max_age, max_calls, max_memory).
enum class ReplaceReason : uint8_t { age, calls, memory };
inline constexpr size_t kReplaceReasonCount = static_cast<size_t>(ReplaceReason::memory) + 1;
std::string_view replace_reason_name(ReplaceReason reason);

// Why a session has lost its child.
enum class ParkReason : uint8_t {
  idle,          // the session was idle for pool.idle_timeout
  place_needed,  // another session or call needed its place
  child_ended,
  taken_over,  // the session comes from another process
  replaced,    // see ReplaceReason
};
inline constexpr size_t kParkReasonCount = static_cast<size_t>(ParkReason::replaced) + 1;
std::string_view park_reason_name(ParkReason reason);

// The end of a parked call, which waited for input of its client: see RoundTrips and InputRounds.
enum class ParkedEnd : uint8_t {
  resumed,
  expired,   // the client has not answered in time
  stopped,   // the gateway was stopped
  given_up,  // the client has cancelled it, refused to answer, or left
  failed,    // the child has gone
};
inline constexpr size_t kParkedEndCount = static_cast<size_t>(ParkedEnd::failed) + 1;
std::string_view parked_end_name(ParkedEnd end);

// The end of a claim that a request has brought back: see mcp::ClaimFilter.
enum class ReturnEnd : uint8_t {
  returned,  // the request goes to the child of the claim
  unknown,   // the client was not given this claim here
  expired,   // the client comes too late
  lost,      // the child has gone
};
inline constexpr size_t kReturnEndCount = static_cast<size_t>(ReturnEnd::lost) + 1;
std::string_view return_end_name(ReturnEnd end);

// The end of a request of a child to its client.
enum class QuestionEnd : uint8_t {
  answered,
  refused,    // by an error
  expired,    // the client has not answered in time
  withdrawn,  // by the child, or by the gateway for calls that are over
  left,       // the client has gone, or answers nothing
  lost,       // the child has gone
};
inline constexpr size_t kQuestionEndCount = static_cast<size_t>(QuestionEnd::lost) + 1;
std::string_view question_end_name(QuestionEnd end);

// The end of an attempt to give a session another child.
enum class RevivalOutcome : uint8_t {
  same,            // the child promises what the former one promised
  changed,         // the child promises something else, which the client is told
  unknown,         // the former promises are not known here; the client is told of a change
  failed,          // no child has answered; the next request tries again
  other_revision,  // the session is over
};
inline constexpr size_t kRevivalOutcomeCount =
    static_cast<size_t>(RevivalOutcome::other_revision) + 1;
std::string_view revival_outcome_name(RevivalOutcome outcome);

// The protocol of a client's connection. One HTTP connection may serve several transports.
enum class ConnectionKind : uint8_t { http, websocket };
inline constexpr size_t kConnectionKindCount = static_cast<size_t>(ConnectionKind::websocket) + 1;
std::string_view connection_kind_name(ConnectionKind kind);

// Why an HTTP request was answered by an error before it became a call.
enum class Refusal : uint8_t {
  bad_head,                // no HTTP request, or one that peers could read differently
  tls_on_plain_port,       // the first bytes begin a TLS handshake
  bad_body,                // malformed chunks or trailers
  bad_request,             // the endpoint misses a parameter, or cannot use it
  unauthorized,            // no credential, or a wrong one
  bad_origin,              // see OriginRules
  bad_host,                // see OriginRules
  cross_site,              // a browser's request for another site, or one that may be
  forbidden,               // any other 403
  not_found,               // nothing at this path
  unknown_session,         // the session is over, or never was
  method_not_allowed,      // the path takes other methods
  not_acceptable,          // the client does not accept the type of the response
  timeout,                 // head or body took too long
  gone,                    // the events to resume a stream from are no longer kept
  too_large,               // the body
  uri_too_long,            // see HeadScanner
  headers_too_large,       // limits.headers, or too many fields
  unsupported_media_type,  // the body is no JSON
  expectation_failed,      // Expect is not 100-continue
  upgrade_required,        // no WebSocket handshake, or another version of it
  rate_limited,            // too many requests
  not_implemented,         // an unknown method or transfer coding
  version_not_supported,   // neither HTTP/1.0 nor HTTP/1.1
  overloaded,              // too many connections or clients, or shutting down
  other,                   // a status without a reason of its own
};
inline constexpr size_t kRefusalCount = static_cast<size_t>(Refusal::other) + 1;
std::string_view refusal_name(Refusal refusal);

// Why a client's message or session was refused at a backend, because of its rules and limits.
enum class Rejection : uint8_t {
  denied,              // by rules
  insufficient_scope,  // by rules
  rate,                // too many calls in a time: of this client, of all, or of all backends
  in_flight,           // the same for calls that are not answered yet
  sessions,            // it has too many sessions
  clients,             // too many clients have calls under way to count another one's
  memory,              // too much is kept for it already, or at the backend
  unpinned,            // what it uses is not pinned, or not any more
};
inline constexpr size_t kRejectionCount = static_cast<size_t>(Rejection::unpinned) + 1;
std::string_view rejection_name(Rejection rejection);

// The state of a server's tool, prompt or template, compared with the pinned definition.
enum class PinState : uint8_t { pinned, fresh, changed };
inline constexpr size_t kPinStateCount = static_cast<size_t>(PinState::changed) + 1;
std::string_view pin_state_name(PinState state);

// The part of a call that failed a check: the arguments or the result; or the schema itself, which
// cannot be compiled.
enum class CheckFailure : uint8_t { arguments, result, schema };
inline constexpr size_t kCheckFailureCount = static_cast<size_t>(CheckFailure::schema) + 1;
std::string_view check_failure_name(CheckFailure failure);

// Why a TLS handshake failed.
enum class HandshakeFailure : uint8_t {
  plain_http,              // an HTTP request without TLS
  malformed,               // no TLS, or broken
  version,                 // neither TLS 1.2 nor 1.3
  no_shared_cipher,        // no cipher, group or signature in common
  no_shared_protocol,      // ALPN without http/1.1
  no_client_certificate,   // one is required
  bad_client_certificate,  // not trusted: authority, time, revoked
  refused_by_client,       // by an alert; it may not trust the server's certificate
  left,                    // the client ended the connection
  timeout,                 // timeouts.handshake
  other,
};
inline constexpr size_t kHandshakeFailureCount = static_cast<size_t>(HandshakeFailure::other) + 1;
std::string_view handshake_failure_name(HandshakeFailure failure);

// The outcome of fetching the keys of an issuer of tokens.
enum class FetchOutcome : uint8_t {
  ok,
  unreachable,   // no connection, or a broken one
  untrusted,     // TLS: the server is not the intended one
  timeout,       // see CurlFetcher
  redirected,    // redirects are not followed
  bad_status,    // any status but 200
  too_large,     // see CurlFetcher
  bad_content,   // no JSON, or without the expected content
  wrong_issuer,  // the found description belongs to another issuer
};
inline constexpr size_t kFetchOutcomeCount = static_cast<size_t>(FetchOutcome::wrong_issuer) + 1;
std::string_view fetch_outcome_name(FetchOutcome outcome);

// How a call ended: by the child's answer, by the caller, or by a fault of the gateway.
class Outcome {
 public:
  static constexpr size_t kAnswers = 8;  // outcomes that are no faults; they come first
  static constexpr size_t kCount = kAnswers + rpc::kFaultCount;
  static constexpr Outcome ok() { return Outcome(0); }
  static constexpr Outcome error() { return Outcome(1); }       // the child's error answer
  static constexpr Outcome tool_error() { return Outcome(2); }  // MCP: result with isError
  static constexpr Outcome cancelled() { return Outcome(3); }   // by the caller, or it left
  // A stateless client has asked what the server is, and was refused because the server is a
  // stateful one: the client continues with a handshake.
  static constexpr Outcome other_era() { return Outcome(4); }
  // ACP: why the agent has stopped, where it has not finished.
  static constexpr Outcome refusal() { return Outcome(5); }
  static constexpr Outcome max_tokens() { return Outcome(6); }
  static constexpr Outcome max_turn_requests() { return Outcome(7); }
  static constexpr Outcome of(rpc::Fault fault) {
    return Outcome(static_cast<uint8_t>(kAnswers + static_cast<size_t>(fault)));
  }

  static constexpr Outcome at(size_t index) { return Outcome(static_cast<uint8_t>(index)); }

  [[nodiscard]] uint8_t index() const { return index_; }  // below kCount
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] bool is_fault() const { return index_ >= kAnswers; }
  // The child has answered, and said why it has gone no further.
  [[nodiscard]] bool is_stop() const { return index_ >= refusal().index_ && !is_fault(); }
  friend bool operator==(Outcome, Outcome) = default;

 private:
  explicit constexpr Outcome(uint8_t index) : index_(index) {}
  uint8_t index_;
};

enum class Direction : uint8_t { to_child, to_client };  // of notifications
inline constexpr size_t kDirectionCount = static_cast<size_t>(Direction::to_client) + 1;
std::string_view direction_name(Direction direction);

enum class Flow : uint8_t { in, out };  // of bytes, as the gateway sees them
inline constexpr size_t kFlowCount = static_cast<size_t>(Flow::out) + 1;
std::string_view flow_name(Flow flow);

enum class DropReason : uint8_t {
  not_json,        // a child's line that is not JSON
  not_rpc,         // JSON, but no JSON-RPC message
  oversized,       // longer than limits.message
  unknown_id,      // an answer to nothing in flight: late, repeated or invented
  no_listener,     // a notification without a receiver
  unknown_cancel,  // a cancel for no call of its caller
  caller_gone,     // the answer's caller has left
  overloaded,      // a notification that no child had room for
  outbox_full,     // the receiver, a client or a child, reads too slowly
  stray_response,  // a client's response to no request
  denied,          // a client's notification that may not pass: by rules, or at a virtual server
};
inline constexpr size_t kDropReasonCount = static_cast<size_t>(DropReason::denied) + 1;
std::string_view drop_reason_name(DropReason reason);

enum class ChildState : uint8_t { starting, ready, busy, draining, dead };
inline constexpr size_t kChildStateCount = static_cast<size_t>(ChildState::dead) + 1;
std::string_view child_state_name(ChildState state);

// `successor`: takes the place of a child that is replaced.
enum class StartReason : uint8_t { minimum, demand, restart, successor };
std::string_view start_reason_name(StartReason reason);
inline constexpr size_t kStartReasonCount = static_cast<size_t>(StartReason::successor) + 1;

// `asked`: the gateway ended it. `exit_zero` is no failure if the child's session ended it. All
// others are failures.
enum class ExitReason : uint8_t {
  asked,
  exit_zero,
  exit_nonzero,
  signal,
  start_failed,
  start_timeout,
  hung,
  broken_output
};
std::string_view exit_reason_name(ExitReason reason);
inline constexpr size_t kExitReasonCount = static_cast<size_t>(ExitReason::broken_output) + 1;

// One finished call.
struct CallRecord {
  BackendId backend = 0;
  MethodId method = kOtherMethod;
  std::string_view method_name;  // as called, decoded; may be missing in the table
  std::optional<ToolId> tool;    // set: the call calls a tool
  std::string_view tool_name;    // as called, decoded; may be missing in the table
  Transport transport = Transport::rpc;
  bool is_mcp = false;                  // whether the backend speaks MCP
  std::optional<PeerKind> client_kind;  // nothing: plain JSON-RPC
  std::optional<PeerKind> child_kind;   // nothing: no child, or one whose kind does not matter
  std::string_view revision;  // of the protocol, as the client speaks it; empty: not known
  Outcome outcome = Outcome::ok();
  WallTime arrived_at{};  // by the wall clock; the epoch if not known
  Duration total{0};      // arrival to answer
  Duration queued{0};     // waiting for a child
  Duration child{0};      // from its writing to the child to the answer; zero: never written
  bool reached_child = false;
  std::string_view id;  // raw
  uint64_t connection = 0;
  SessionName session;
  ClientAddress client;                 // address of the client
  uint64_t child_number = 0;            // number of the child that got the call; 0: none
  int child_pid = 0;                    // of that child; 0: none
  std::string_view principal;           // name of the principal; empty: anonymous
  const TraceContext* trace = nullptr;  // the caller's, or begun here; null: none
  SpanId span = 0;                      // in `trace`: of the time at a child; 0: no spans
  size_t bytes_in = 0;                  // of the request
  size_t bytes_out = 0;                 // of the answer
  std::string_view detail;              // of a fault; empty otherwise
};

// How calls of a virtual server have ended at one of its members.
enum class MemberEnd : uint8_t { result, error, fault };
inline constexpr std::array<std::string_view, 3> kMemberEndNames = {"result", "error", "fault"};
using MemberEnds = std::array<uint64_t, kMemberEndNames.size()>;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_backend(BackendId, std::string_view /*name*/) {}
  virtual void on_method(BackendId, MethodId, std::string_view /*name*/) {}
  virtual void on_tool(BackendId, ToolId, std::string_view /*name*/) {}

  virtual void on_call_started(BackendId) {}
  virtual void on_call_finished(const CallRecord&) {}
  // Each valid message, as its receiver gets it, except for the wire id of a request: the
  // concatenation of `parts`.
  virtual void on_message(BackendId, Direction, std::span<const std::string_view> /*parts*/) {}
  virtual void on_notification(BackendId, MethodId, Direction) {}
  virtual void on_dropped(BackendId, DropReason) {}
  virtual void on_rejected(BackendId, Rejection) {}

  // A child went from one state to another; `dead` means "not there" at both ends of its life.
  virtual void on_child_state(BackendId, ChildState /*from*/, ChildState /*to*/) {}
  virtual void on_child_started(BackendId, StartReason) {}
  virtual void on_child_ready(BackendId, Duration /*since_start*/) {}
  virtual void on_child_exited(BackendId, ExitReason) {}
  // A child that is replaced takes no more calls, or is asked to end.
  virtual void on_child_replaced(BackendId, ReplaceReason) {}
  // A child that is to be replaced serves on for its open work, as there is no room for a
  // successor.
  virtual void on_replacement_waits(BackendId, ReplaceReason) {}

  // A breaker of the backend has opened or closed. Each of its pools has one.
  virtual void on_breaker(BackendId, bool /*open*/) {}
  // How many children sessions may have at a time. Called once.
  virtual void on_session_places(BackendId, uint32_t) {}
  virtual void on_session_opened(BackendId) {}
  virtual void on_session_state(BackendId, SessionState /*from*/, SessionState /*to*/) {}
  virtual void on_session_parked(BackendId, ParkReason) {}
  // A child has asked its client, and the request has ended, this long after.
  virtual void on_question_asked(BackendId) {}
  virtual void on_question_ended(BackendId, MethodId, QuestionEnd, Duration /*since_asked*/) {}
  virtual void on_call_parked(BackendId) {}
  virtual void on_parked_call_ended(BackendId, ParkedEnd) {}
  // A request has brought a claim back, with this end.
  virtual void on_return(BackendId, ReturnEnd) {}
  // A stateless client has got a kept answer of a child.
  virtual void on_cache_hit(BackendId) {}
  // A client of a server that sleeps has got a remembered answer.
  virtual void on_remembered(BackendId) {}
  virtual void on_check_failed(BackendId, CheckFailure) {}
  // The number of elements in this state has changed by `change`.
  virtual void on_pins(BackendId, PinState, int64_t /*change*/) {}
  virtual void on_session_revived(BackendId, RevivalOutcome, Duration /*since_request*/) {}
  virtual void on_session_closed(BackendId, SessionState /*it was in*/) {}

  virtual void on_connection_opened(ConnectionKind) {}
  virtual void on_connection_closed(ConnectionKind) {}
  virtual void on_bytes(ConnectionKind, Flow, size_t /*count*/) {}
  virtual void on_refused(Refusal) {}
  virtual void on_handshake_failed(HandshakeFailure) {}
  // Keys of an issuer were fetched, with the issuer's description if that was needed.
  virtual void on_keys_fetched(FetchOutcome) {}
};

}  // namespace stdgate
