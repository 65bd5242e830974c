// Faults: what the gateway itself answers, as opposed to a child's own errors.
//
// The only place that knows JSON-RPC error codes, and the HTTP statuses and words of a fault.
// MCP reserves -32000…-32099 for itself, so towards MCP clients our codes are -31000 minus the
// HTTP status (CodeSet::mcp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/account.h"
#include "gateway/base/time.h"

namespace stdgate::rpc {

enum class Fault : uint8_t {
  parse_error,
  invalid_request,
  method_not_allowed,
  not_found,
  unauthenticated,
  denied,
  insufficient_scope,
  timeout,
  child_failed,
  overloaded,
  rate_limited,
  too_large,
  unrecorded,
  internal,
};
inline constexpr size_t kFaultCount = static_cast<size_t>(Fault::internal) + 1;

enum class CodeSet : uint8_t { plain, mcp };

// JSON-RPC 2.0 section 5.1 where it has a code.
int fault_code(Fault fault, CodeSet codes);
int fault_http_status(Fault fault);
// Snake case, constant: metric label and log value.
std::string_view fault_name(Fault fault);
// The message for clients if the fault has none of its own. Constant: never holds caught text.
std::string_view fault_message(Fault fault);

// Errors of a protocol that are no faults: what the gateway answers in the place of a peer.
enum class RpcError : uint8_t {
  method_not_found,
  invalid_params,
  internal_error,
  // MCP 2026-07-28
  header_mismatch,
  missing_capability,
  unsupported_version,
  resource_not_found,  // MCP until then
};
int rpc_error_code(RpcError error);

// When to try again, where no better estimate is known.
inline constexpr Duration kRetryHint = std::chrono::seconds(1);

// One fault as it happened, made by one of `faults`. `message` may go to the client; `detail`
// (paths, stderr, parser positions) goes to the log, and to the client only with
// expose_fault_details.
struct FaultReport {
  Fault fault = Fault::internal;
  std::string message;      // empty: fault_message(fault)
  std::string detail;       // empty: none
  Duration retry_after{0};  // zero: no hint; else told in whole seconds, as `data.retryAfter` too
  std::string scope{};      // for insufficient_scope: all scopes needed, with spaces
};

namespace faults {

// A report with the fault's own message.
FaultReport plain(Fault fault);
// A report with `reason` behind the fault's own message. `reason` is a constant, so nothing that a
// client sent is given back.
FaultReport because(Fault fault, std::string_view reason);

FaultReport timed_out(std::string message);
FaultReport child_failed(std::string message, std::string detail = {});
FaultReport overloaded(std::string message);
FaultReport rate_limited(std::string message, Duration retry_after);
FaultReport too_large(std::string message, std::string detail = {});
// A client's message.
FaultReport message_too_large();
// Of one session.
FaultReport too_many_subscriptions();
FaultReport insufficient_scope(std::span<const std::string> scopes);

FaultReport shutting_down();
FaultReport too_many_clients();
FaultReport short_of_memory();
// The client holds too much memory. With MemoryLack::none: short_of_memory().
FaultReport holds_too_much(MemoryLack lack);
FaultReport no_new_sessions();
// The audit has to have a line of the call, and cannot be written.
FaultReport unrecorded();

}  // namespace faults

// An error object, appended to `out`: {"code":…,"message":"…"[,"data":<data>]}. `data` is JSON.
void append_error(std::string& out, int code, std::string_view message, std::string_view data = {});
// The same as a member of a response: "error":{…}
std::string error_member(int code, std::string_view message, std::string_view data = {});

// The error response, appended to `out`:
//   {"jsonrpc":"2.0","id":<id>,"error":{"code":…,"message":"…"[,"data":{"detail":"…"}]}}
// with "data":{"scope":"…"} instead where scopes are needed.
// `id` is raw JSON; empty means null (JSON-RPC 2.0 section 5: the id could not be read).
void append_fault_response(std::string& out, std::string_view id, const FaultReport& report,
                           CodeSet codes, bool with_detail);

}  // namespace stdgate::rpc
