#include "gateway/rpc/fault.h"

#include <array>
#include <cassert>

#include "gateway/rpc/json_string.h"

namespace stdgate {
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
    {Fault::timeout, "timeout", -32003, -31504, 504, "Request timed out"},
    {Fault::child_failed, "child_failed", -32004, -31502, 502, "Backend failed"},
    {Fault::overloaded, "overloaded", -32005, -31503, 503, "Backend overloaded"},
    {Fault::rate_limited, "rate_limited", -32006, -31429, 429, "Too many requests"},
    {Fault::too_large, "too_large", -32007, -31413, 413, "Message too large"},
    {Fault::internal, "internal", -32603, -32603, 500, "Internal error"},
}};

constexpr bool in_order_of_enum() {
  for (size_t i = 0; i < kFaultCount; ++i) {
    if (kFaults[i].fault != static_cast<Fault>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_enum());

const FaultEntry& entry_of(Fault fault) {
  assert(static_cast<size_t>(fault) < kFaultCount);
  return kFaults[static_cast<size_t>(fault)];
}

}  // namespace

int fault_code(Fault fault, CodeSet codes) {
  const FaultEntry& entry = entry_of(fault);
  return codes == CodeSet::mcp ? entry.mcp_code : entry.plain_code;
}

int fault_http_status(Fault fault) { return entry_of(fault).http_status; }

std::string_view fault_name(Fault fault) { return entry_of(fault).name; }

std::string_view fault_message(Fault fault) { return entry_of(fault).message; }

void append_fault_response(std::string& out, std::string_view id, const FaultReport& report,
                           CodeSet codes, bool with_detail) {
  out += R"({"jsonrpc":"2.0","id":)";
  out += id.empty() ? std::string_view("null") : id;
  out += R"(,"error":{"code":)";
  out += std::to_string(fault_code(report.fault, codes));
  out += R"(,"message":)";
  append_json_string(
      out, report.message.empty() ? fault_message(report.fault) : std::string_view(report.message));
  if (with_detail && !report.detail.empty()) {
    out += R"(,"data":{"detail":)";
    append_json_string(out, report.detail);
    out += '}';
  }
  out += "}}";
}

}  // namespace stdgate
