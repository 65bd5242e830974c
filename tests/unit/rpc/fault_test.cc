// Faults: codes, statuses and the error response.

#include "gateway/rpc/fault.h"

#include <gmock/gmock.h>

#include <set>

namespace stdgate {
namespace {

TEST(FaultTest, CodesAndStatuses) {
  struct Case {
    rpc::Fault fault;
    int plain;
    int mcp;
    int http;
    std::string_view name;
  };
  const Case cases[] = {
      {rpc::Fault::parse_error, -32700, -32700, 400, "parse_error"},
      {rpc::Fault::invalid_request, -32600, -32600, 400, "invalid_request"},
      {rpc::Fault::method_not_allowed, -32601, -32601, 403, "method_not_allowed"},
      {rpc::Fault::not_found, -32001, -31404, 404, "not_found"},
      {rpc::Fault::unauthenticated, -32002, -31401, 401, "unauthenticated"},
      {rpc::Fault::denied, -32002, -31403, 403, "denied"},
      {rpc::Fault::insufficient_scope, -32002, -31403, 403, "insufficient_scope"},
      {rpc::Fault::timeout, -32003, -31504, 504, "timeout"},
      {rpc::Fault::child_failed, -32004, -31502, 502, "child_failed"},
      {rpc::Fault::overloaded, -32005, -31503, 503, "overloaded"},
      {rpc::Fault::rate_limited, -32006, -31429, 429, "rate_limited"},
      {rpc::Fault::too_large, -32007, -31413, 413, "too_large"},
      {rpc::Fault::unrecorded, -32008, -31503, 503, "unrecorded"},
      {rpc::Fault::internal, -32603, -32603, 500, "internal"},
  };
  ASSERT_EQ(std::size(cases), rpc::kFaultCount);
  for (const Case& c : cases) {
    EXPECT_EQ(rpc::fault_code(c.fault, rpc::CodeSet::plain), c.plain) << c.name;
    EXPECT_EQ(rpc::fault_code(c.fault, rpc::CodeSet::mcp), c.mcp) << c.name;
    EXPECT_EQ(rpc::fault_http_status(c.fault), c.http) << c.name;
    EXPECT_EQ(rpc::fault_name(c.fault), c.name);
    EXPECT_FALSE(rpc::fault_message(c.fault).empty()) << c.name;
  }
}

TEST(FaultTest, McpCodesOfOurOwnLieOutsideTheReservedRange) {
  for (size_t i = 0; i < rpc::kFaultCount; ++i) {
    const auto fault = static_cast<rpc::Fault>(i);
    const int code = rpc::fault_code(fault, rpc::CodeSet::mcp);
    EXPECT_FALSE(code <= -32000 && code >= -32099) << rpc::fault_name(fault);
    if (code > -32000) {
      EXPECT_EQ(code, -31000 - rpc::fault_http_status(fault)) << rpc::fault_name(fault);
    }
  }
}

TEST(FaultTest, CodesOfErrorsThatAreNoFaults) {
  EXPECT_EQ(rpc::rpc_error_code(rpc::RpcError::method_not_found), -32601);
  EXPECT_EQ(rpc::rpc_error_code(rpc::RpcError::invalid_params), -32602);
  EXPECT_EQ(rpc::rpc_error_code(rpc::RpcError::internal_error), -32603);
  EXPECT_EQ(rpc::rpc_error_code(rpc::RpcError::unsupported_version), -32022);
  EXPECT_EQ(rpc::rpc_error_code(rpc::RpcError::resource_not_found), -32002);
}

TEST(FaultTest, WhatMayBetterBeTriedLaterSaysWhen) {
  EXPECT_EQ(rpc::faults::overloaded("full").retry_after, rpc::kRetryHint);
  EXPECT_EQ(rpc::faults::shutting_down().retry_after, rpc::kRetryHint);
  EXPECT_EQ(rpc::faults::rate_limited("slow", std::chrono::seconds(3)).retry_after,
            std::chrono::seconds(3));
  EXPECT_EQ(rpc::faults::child_failed("gone").retry_after, Duration(0));
  EXPECT_EQ(rpc::faults::because(rpc::Fault::invalid_request, "empty batch").message,
            "Invalid request: empty batch");
}

std::string response(std::string_view id, const rpc::FaultReport& report, rpc::CodeSet codes,
                     bool detail) {
  std::string out = "before ";
  rpc::append_fault_response(out, id, report, codes, detail);
  return out;
}

TEST(FaultTest, Response) {
  EXPECT_EQ(
      response("", {.fault = rpc::Fault::parse_error, .message = "", .detail = ""},
               rpc::CodeSet::plain, false),
      R"(before {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}})");
  rpc::FaultReport late = rpc::faults::rate_limited("m", std::chrono::milliseconds(1001));
  EXPECT_EQ(response("1", late, rpc::CodeSet::mcp, false),
            R"(before {"jsonrpc":"2.0","id":1,"error":{"code":-31429,"message":"m",)"
            R"("data":{"retryAfter":2}}})");
  late.detail = "d";
  late.scope = "s";
  EXPECT_THAT(response("1", late, rpc::CodeSet::mcp, true),
              testing::HasSubstr(R"("data":{"scope":"s","detail":"d","retryAfter":2}}})"));
  const rpc::FaultReport report{
      .fault = rpc::Fault::timeout, .message = "a \"b\"\n", .detail = "/etc\\x\xff"};
  EXPECT_EQ(response("1.0", report, rpc::CodeSet::mcp, false),
            R"(before {"jsonrpc":"2.0","id":1.0,"error":{"code":-31504,"message":"a \"b\"\n"}})");
  EXPECT_EQ(response(R"("\u00e9")", report, rpc::CodeSet::plain, true),
            R"(before {"jsonrpc":"2.0","id":"\u00e9","error":{"code":-32003,"message":"a \"b\"\n",)"
            R"("data":{"detail":"/etc\\x\ufffd"}}})");
  EXPECT_EQ(
      response("7", {.fault = rpc::Fault::internal, .message = "", .detail = ""},
               rpc::CodeSet::plain, true),
      R"(before {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error"}})");
}

}  // namespace
}  // namespace stdgate
