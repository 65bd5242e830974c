// Observer: what happened, told by core and transports to whoever counts or logs it. The bodies are
// empty, so an observer overrides only what it wants; the core names no metrics library.
//
// Contract: called on the loop's thread, must not call back, must not block, must not throw. Ids
// are small and dense, given by on_backend(), on_method() and on_tool() before their first use, so
// that an observer resolves its own handles once. Views are valid during the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/rpc/fault.h"

namespace stdgate {

using BackendId = uint16_t;
// The places of names in the bounded tables of a backend.
using NameId = uint16_t;
inline constexpr NameId kOtherName = 0;  // "_other": names without a place
using MethodId = NameId;
inline constexpr MethodId kOtherMethod = kOtherName;
using ToolId = NameId;  // of what a protocol calls tools
inline constexpr ToolId kOtherTool = kOtherName;

enum class Transport : uint8_t { http, websocket };
inline constexpr size_t kTransportCount = static_cast<size_t>(Transport::websocket) + 1;
std::string_view transport_name(Transport transport);

// How a call ended: by the child's answer, by the caller, or by a fault of the gateway.
class Outcome {
 public:
  static constexpr size_t kAnswers = 4;  // outcomes that are no fault; they come first
  static constexpr size_t kCount = kAnswers + kFaultCount;
  static constexpr Outcome ok() { return Outcome(0); }
  static constexpr Outcome error() { return Outcome(1); }       // the child's error answer
  static constexpr Outcome tool_error() { return Outcome(2); }  // MCP: result with isError
  static constexpr Outcome cancelled() { return Outcome(3); }   // by the caller, or it left
  static constexpr Outcome of(Fault fault) {
    return Outcome(static_cast<uint8_t>(kAnswers + static_cast<size_t>(fault)));
  }

  static constexpr Outcome at(size_t index) { return Outcome(static_cast<uint8_t>(index)); }

  [[nodiscard]] uint8_t index() const { return index_; }  // below kCount
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] bool is_fault() const { return index_ >= kAnswers; }
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
  not_json,        // a child's line that is no JSON
  not_rpc,         // JSON, but no JSON-RPC message
  oversized,       // longer than limits.message
  unknown_id,      // an answer to nothing in flight: late, repeated or invented
  no_listener,     // a notification that nobody is to get
  unknown_cancel,  // a cancel for no call of its origin
  origin_gone,     // the answer's caller has left
  overloaded,      // a notification that no child had room for
  outbox_full,     // a client that reads too slowly
  stray_response,  // a client's response to no request
};
inline constexpr size_t kDropReasonCount = static_cast<size_t>(DropReason::stray_response) + 1;
std::string_view drop_reason_name(DropReason reason);

enum class ChildState : uint8_t { starting, ready, busy, draining, dead };
inline constexpr size_t kChildStateCount = static_cast<size_t>(ChildState::dead) + 1;
std::string_view child_state_name(ChildState state);

enum class StartReason : uint8_t { minimum, demand, restart };
std::string_view start_reason_name(StartReason reason);
inline constexpr size_t kStartReasonCount = static_cast<size_t>(StartReason::restart) + 1;

// `asked`: the gateway wanted it (idle, drain). The others are failures.
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
  std::string_view method_name;  // as called, decoded; may be outside of the table
  std::optional<ToolId> tool;    // set: the call of a tool
  std::string_view tool_name;    // as called, decoded; may be outside of the table
  Transport transport = Transport::http;
  Outcome outcome = Outcome::ok();
  Duration total{0};   // arrival to answer
  Duration queued{0};  // waiting for a child
  Duration child{0};   // written to the child until answered; zero if it never was written
  bool reached_child = false;
  std::string_view id;  // raw
  uint64_t connection = 0;
  std::string_view trace_id;  // W3C Trace Context: 32 hex digits; empty: the caller named none
  size_t bytes_in = 0;        // of the request
  size_t bytes_out = 0;       // of the answer
  std::string_view detail;    // of a fault; empty otherwise
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_backend(BackendId, std::string_view /*name*/) {}
  virtual void on_method(BackendId, MethodId, std::string_view /*name*/) {}
  virtual void on_tool(BackendId, ToolId, std::string_view /*name*/) {}

  virtual void on_call_started(BackendId) {}
  virtual void on_call_finished(const CallRecord&) {}
  // Each good message, as its receiver sees it but for a request's wire id: the concatenation of
  // `parts`.
  virtual void on_message(BackendId, Direction, std::span<const std::string_view> /*parts*/) {}
  virtual void on_notification(BackendId, MethodId, Direction) {}
  virtual void on_dropped(BackendId, DropReason) {}

  // A child went from one state to another; `dead` stands for "not there" on both ends of its life.
  virtual void on_child_state(BackendId, ChildState /*from*/, ChildState /*to*/) {}
  virtual void on_child_started(BackendId, StartReason) {}
  virtual void on_child_ready(BackendId, Duration /*since_start*/) {}
  virtual void on_child_exited(BackendId, ExitReason) {}

  virtual void on_session_opened(BackendId) {}
  virtual void on_session_closed(BackendId) {}

  virtual void on_connection_opened(Transport) {}
  virtual void on_connection_closed(Transport) {}
  virtual void on_bytes(Transport, Flow, size_t /*count*/) {}
};

}  // namespace stdgate
