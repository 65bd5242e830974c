// The requests of MCP's modern era (2026-07-28, basic and transports): which messages are of it,
// what their body has to say, and with HTTP the head, and that both say the same. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/modern_params.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// A header field of the POST.
struct ModernHeader {
  std::optional<std::string_view> value;  // without space around it; nothing: no such field
  bool repeated = false;
};

struct ModernHeaders {
  ModernHeader version;  // MCP-Protocol-Version
  ModernHeader method;   // Mcp-Method
  ModernHeader name;     // Mcp-Name
};

struct ModernProblem {
  int status = 400;    // of the response
  std::string error;   // the error object, raw JSON
  const char* reason;  // for the log: a constant phrase
};

// Whether a message names its version in its body, and so is of this era.
bool has_modern(const rpc::Document& document);

// What is wrong with a request that names its version, or should; nothing: it may go on. `params`
// are its own. The second is for a transport without headers, as stdio is.
std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const ModernParams& params,
                                          const ModernHeaders& headers);
std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const ModernParams& params);

// The status of a response whose only message is an error with this code.
int modern_status(int64_t error_code);

// What a field's value stands for: itself, or the text in =?base64?…?=, a view of `scratch`.
// Nothing: it is neither.
std::optional<std::string_view> decode_header(std::string_view value, std::string& scratch);

}  // namespace stdgate::mcp
