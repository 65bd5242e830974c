// Faults: codes, statuses and the error response.

#include "gateway/rpc/fault.h"

#include <gtest/gtest.h>

#include <set>

namespace stdgate {
namespace {

TEST(FaultTest, CodesAndStatuses) {
  struct Case {
    Fault fault;
    int plain;
    int mcp;
    int http;
    std::string_view name;
  };
  const Case cases[] = {
      {Fault::parse_error, -32700, -32700, 400, "parse_error"},
      {Fault::invalid_request, -32600, -32600, 400, "invalid_request"},
      {Fault::method_not_allowed, -32601, -32601, 403, "method_not_allowed"},
      {Fault::not_found, -32001, -31404, 404, "not_found"},
      {Fault::unauthenticated, -32002, -31401, 401, "unauthenticated"},
      {Fault::denied, -32002, -31403, 403, "denied"},
      {Fault::timeout, -32003, -31504, 504, "timeout"},
      {Fault::child_failed, -32004, -31502, 502, "child_failed"},
      {Fault::overloaded, -32005, -31503, 503, "overloaded"},
      {Fault::rate_limited, -32006, -31429, 429, "rate_limited"},
      {Fault::too_large, -32007, -31413, 413, "too_large"},
      {Fault::internal, -32603, -32603, 500, "internal"},
  };
  ASSERT_EQ(std::size(cases), kFaultCount);
  for (const Case& c : cases) {
    EXPECT_EQ(fault_code(c.fault, CodeSet::plain), c.plain) << c.name;
    EXPECT_EQ(fault_code(c.fault, CodeSet::mcp), c.mcp) << c.name;
    EXPECT_EQ(fault_http_status(c.fault), c.http) << c.name;
    EXPECT_EQ(fault_name(c.fault), c.name);
    EXPECT_FALSE(fault_message(c.fault).empty()) << c.name;
  }
}

TEST(FaultTest, McpCodesOfOurOwnLieOutsideTheReservedRange) {
  for (size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    const int code = fault_code(fault, CodeSet::mcp);
    EXPECT_FALSE(code <= -32000 && code >= -32099) << fault_name(fault);
    if (code > -32000) {
      EXPECT_EQ(code, -31000 - fault_http_status(fault)) << fault_name(fault);
    }
  }
}

std::string response(std::string_view id, const FaultReport& report, CodeSet codes, bool detail) {
  std::string out = "before ";
  append_fault_response(out, id, report, codes, detail);
  return out;
}

TEST(FaultTest, Response) {
  EXPECT_EQ(
      response("", {.fault = Fault::parse_error, .message = "", .detail = ""}, CodeSet::plain,
               false),
      R"(before {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}})");
  const FaultReport report{
      .fault = Fault::timeout, .message = "a \"b\"\n", .detail = "/etc\\x\xff"};
  EXPECT_EQ(response("1.0", report, CodeSet::mcp, false),
            R"(before {"jsonrpc":"2.0","id":1.0,"error":{"code":-31504,"message":"a \"b\"\n"}})");
  EXPECT_EQ(response(R"("\u00e9")", report, CodeSet::plain, true),
            R"(before {"jsonrpc":"2.0","id":"\u00e9","error":{"code":-32003,"message":"a \"b\"\n",)"
            R"("data":{"detail":"/etc\\x)"
            "\xef\xbf\xbd\"}}}");
  EXPECT_EQ(
      response("7", {.fault = Fault::internal, .message = "", .detail = ""}, CodeSet::plain, true),
      R"(before {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error"}})");
}

}  // namespace
}  // namespace stdgate
