// Requests of MCP's modern era (2026-07-28, basic and transports): which messages belong to it,
// what their body has to say, and, over HTTP, that the head says the same. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/mcp_params.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// A header field of the POST.
struct ModernHeader {
  std::optional<std::string_view> value;  // without surrounding space; nothing: no such field
  bool repeated = false;
};

// The header fields that have to agree with the body.
struct ModernHeaders {
  ModernHeader version;  // MCP-Protocol-Version
  ModernHeader method;   // Mcp-Method
  ModernHeader name;     // Mcp-Name
};

// Why a modern request is refused.
struct ModernProblem {
  int status = 400;    // of the response
  std::string error;   // the error object, raw JSON
  const char* reason;  // for the log: a constant phrase
};

// Whether a message of the document names its version in its body, as modern requests do.
bool has_modern(const rpc::Document& document);

// Finds the problem of a modern request; nothing: the request may pass. `params`: of the request.
// The overload without headers is for transports like stdio.
std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const McpParams& params,
                                          const ModernHeaders& headers);
std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const McpParams& params);

// The status of a response whose only message is an error with this code.
int modern_status(int64_t error_code);

// The text that a header field's value stands for: the value itself, or the decoded text of
// =?base64?…?=, a view of `scratch`. Nothing: the value is malformed.
std::optional<std::string_view> decode_header(std::string_view value, std::string& scratch);

}  // namespace stdgate::mcp
