#include "gateway/rpc/fault.h"

#include <array>
#include <chrono>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/rpc/json_text.h"
#include "gateway/rpc/message_text.h"

namespace stdgate::rpc {
namespace {

struct FaultEntry {
  Fault fault;
  std::string_view name;
  int plain_code;
  int mcp_code;
  int http_status;
  std::string_view message;
};

constexpr std::array<FaultEntry, kFaultCount> kFaults{{
    {Fault::parse_error, "parse_error", -32700, -32700, 400, "Parse error"},
    {Fault::invalid_request, "invalid_request", -32600, -32600, 400, "Invalid request"},
    {Fault::method_not_allowed, "method_not_allowed", -32601, -32601, 403, "Method not allowed"},
    {Fault::not_found, "not_found", -32001, -31404, 404, "Not found"},
    {Fault::unauthenticated, "unauthenticated", -32002, -31401, 401, "Authentication required"},
    {Fault::denied, "denied", -32002, -31403, 403, "Access denied"},
    {Fault::insufficient_scope, "insufficient_scope", -32002, -31403, 403, "Insufficient scope"},
    {Fault::timeout, "timeout", -32003, -31504, 504, "Request timed out"},
    {Fault::child_failed, "child_failed", -32004, -31502, 502, "Backend failed"},
    {Fault::overloaded, "overloaded", -32005, -31503, 503, "Backend overloaded"},
    {Fault::rate_limited, "rate_limited", -32006, -31429, 429, "Too many requests"},
    {Fault::too_large, "too_large", -32007, -31413, 413, "Message too large"},
    {Fault::unrecorded, "unrecorded", -32008, -31503, 503, "Audit record cannot be written"},
    {Fault::internal, "internal", -32603, -32603, 500, "Internal error"},
}};

// JSON-RPC 2.0 section 5.1, and MCP's own.
struct RpcErrorEntry {
  RpcError error;
  int code;
};

constexpr std::array kRpcErrors{
    RpcErrorEntry{RpcError::method_not_found, -32601},
    RpcErrorEntry{RpcError::invalid_params, -32602},
    RpcErrorEntry{RpcError::internal_error, -32603},
    RpcErrorEntry{RpcError::header_mismatch, -32020},
    RpcErrorEntry{RpcError::missing_capability, -32021},
    RpcErrorEntry{RpcError::unsupported_version, -32022},
    RpcErrorEntry{RpcError::resource_not_found, -32002},
};

constexpr bool in_order_of_enum() {
  for (size_t i = 0; i < kFaultCount; ++i) {
    if (kFaults[i].fault != static_cast<Fault>(i)) return false;
  }
  for (size_t i = 0; i < kRpcErrors.size(); ++i) {
    if (kRpcErrors[i].error != static_cast<RpcError>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_enum());

const FaultEntry& entry_of(Fault fault) {
  STDGATE_CHECK(static_cast<size_t>(fault) < kFaultCount);
  return kFaults[static_cast<size_t>(fault)];
}

// The object of what else the client may know; nothing if that is nothing.
void append_fault_data(std::string& out, const FaultReport& report, bool with_detail) {
  char before = '{';
  const auto begin = [&](std::string_view key) {
    out += std::exchange(before, ',');
    append_json_string(out, key);
    out += ':';
  };
  if (!report.scope.empty()) {
    begin("scope");
    append_json_string(out, report.scope);
  }
  if (with_detail && !report.detail.empty()) {
    begin("detail");
    append_json_string(out, report.detail);
  }
  if (report.retry_after > Duration::zero()) {
    begin("retryAfter");
    out += std::to_string(std::chrono::ceil<std::chrono::seconds>(report.retry_after).count());
  }
  if (!out.empty()) out += '}';
}

}  // namespace

int fault_code(Fault fault, CodeSet codes) {
  const FaultEntry& entry = entry_of(fault);
  return codes == CodeSet::mcp ? entry.mcp_code : entry.plain_code;
}

int fault_http_status(Fault fault) { return entry_of(fault).http_status; }

std::string_view fault_name(Fault fault) { return entry_of(fault).name; }

std::string_view fault_message(Fault fault) { return entry_of(fault).message; }

int rpc_error_code(RpcError error) {
  STDGATE_CHECK(static_cast<size_t>(error) < kRpcErrors.size());
  return kRpcErrors[static_cast<size_t>(error)].code;
}

namespace faults {

FaultReport plain(Fault fault) { return {fault, {}, {}, {}}; }

FaultReport because(Fault fault, std::string_view reason) {
  FaultReport report = plain(fault);
  report.message.append(fault_message(fault)).append(": ").append(reason);
  return report;
}

FaultReport timed_out(std::string message) { return {Fault::timeout, std::move(message), {}, {}}; }

FaultReport child_failed(std::string message, std::string detail) {
  return {Fault::child_failed, std::move(message), std::move(detail), {}};
}

FaultReport overloaded(std::string message) {
  return {Fault::overloaded, std::move(message), {}, kRetryHint};
}

FaultReport rate_limited(std::string message, Duration retry_after) {
  return {Fault::rate_limited, std::move(message), {}, retry_after};
}

FaultReport too_large(std::string message, std::string detail) {
  return {Fault::too_large, std::move(message), std::move(detail), {}};
}

FaultReport message_too_large() {
  return because(Fault::too_large, "it is larger than limits.message");
}

FaultReport insufficient_scope(std::span<const std::string> scopes) {
  FaultReport report = plain(Fault::insufficient_scope);
  for (const std::string& scope : scopes) {
    report.scope.append(report.scope.empty() ? "" : " ").append(scope);
  }
  return report;
}

FaultReport shutting_down() { return overloaded("the gateway is shutting down"); }

FaultReport too_many_clients() { return overloaded("too many clients"); }

FaultReport too_many_subscriptions() {
  return overloaded("this session has too many subscriptions");
}

FaultReport short_of_memory() { return overloaded("the gateway is short of memory"); }

FaultReport holds_too_much(MemoryLack lack) {
  switch (lack) {
    case MemoryLack::of_holder:
      return overloaded(
          "this client's messages, answers and sessions hold all that one client may "
          "(limits.buffered_per_client)");
    case MemoryLack::of_gateway:
      return overloaded(
          "the gateway's memory for its clients is nearly used up "
          "(limits.buffered), and this client holds much of it");
    case MemoryLack::none:
      break;
  }
  return short_of_memory();
}

FaultReport no_new_sessions() { return overloaded("the gateway is too busy to take new sessions"); }

FaultReport unrecorded() { return {Fault::unrecorded, {}, {}, kRetryHint}; }

}  // namespace faults

void append_error(std::string& out, int code, std::string_view message, std::string_view data) {
  out += R"({"code":)";
  out += std::to_string(code);
  out += R"(,"message":)";
  append_json_string(out, message);
  if (!data.empty()) out.append(R"(,"data":)").append(data);
  out += '}';
}

std::string error_member(int code, std::string_view message, std::string_view data) {
  std::string member = R"("error":)";
  append_error(member, code, message, data);
  return member;
}

void append_fault_response(std::string& out, std::string_view id, const FaultReport& report,
                           CodeSet codes, bool with_detail) {
  out += kIdHead;
  out += id.empty() ? std::string_view("null") : id;
  out += R"(,"error":)";
  std::string data;
  append_fault_data(data, report, with_detail);
  append_error(
      out, fault_code(report.fault, codes),
      report.message.empty() ? fault_message(report.fault) : std::string_view(report.message),
      data);
  out += '}';
}

}  // namespace stdgate::rpc
