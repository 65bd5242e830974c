#include "gateway/mcp/modern_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"
#include "gateway/session/log_verbosity.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kEncodedHead = "=?base64?";
constexpr std::string_view kEncodedTail = "?=";

// Requests of the legacy era that the modern era has removed; a legacy child would answer them.
constexpr std::array<std::string_view, 8> kGone = {"initialize",
                                                   "ping",
                                                   "logging/setLevel",
                                                   "resources/subscribe",
                                                   "resources/unsubscribe",
                                                   "tasks/list",
                                                   "tasks/result",
                                                   "roots/list"};

// The member of params that Mcp-Name repeats, by method.
struct Named {
  std::string_view method;
  rpc::Member McpParams::*member;
};
constexpr std::array<Named, 6> kNamed = {{{"tools/call", &McpParams::name},
                                          {"prompts/get", &McpParams::name},
                                          {"resources/read", &McpParams::uri},
                                          {"tasks/get", &McpParams::task_id},
                                          {"tasks/update", &McpParams::task_id},
                                          {"tasks/cancel", &McpParams::task_id}}};

using Error = rpc::RpcError;

ModernProblem problem(const call::Absence& error, const char* reason, int status = 400) {
  ModernProblem problem{status, {}, reason};
  rpc::append_error(problem.error, rpc::rpc_error_code(error.error), error.message, error.data);
  return problem;
}

ModernProblem problem(Error error, const char* reason, int status = 400) {
  return problem(call::Absence{error, reason}, reason, status);
}

ModernProblem mismatch(const char* reason) { return problem(Error::header_mismatch, reason); }
ModernProblem malformed(const char* reason) { return problem(Error::invalid_params, reason); }

// The text between the quotes of a raw JSON string; nothing for any other value.
std::optional<std::string_view> string_content(const rpc::Member& raw) {
  if (!raw || raw->size() < 2 || raw->front() != '"') return std::nullopt;
  return raw->substr(1, raw->size() - 2);
}

bool is_object(const rpc::Member& raw) { return raw && !raw->empty() && raw->front() == '{'; }

std::optional<ModernProblem> check_meta(const McpMeta& meta) {
  if (!is_object(meta.capabilities)) {
    return malformed("_meta has no io.modelcontextprotocol/clientCapabilities");
  }
  if (!is_object(meta.client_info) && !rpc::is_absent(meta.client_info)) {
    return malformed("io.modelcontextprotocol/clientInfo in _meta is no object");
  }
  if (rpc::is_absent(meta.log_level)) return std::nullopt;
  const auto name = string_content(meta.log_level);
  std::string scratch;
  if (!name || !session::parse_severity(rpc::decode_string(*name, scratch))) {
    return malformed("io.modelcontextprotocol/logLevel in _meta is no log level");
  }
  return std::nullopt;
}

// `name_header`: null where there are no headers.
std::optional<ModernProblem> check_name(const rpc::Member& raw, const ModernHeader* name_header) {
  const auto name = string_content(raw);
  if (!name) return malformed("params do not name what is asked for");
  if (name_header == nullptr) return std::nullopt;
  const ModernHeader& header = *name_header;
  if (!header.value) return mismatch("Header mismatch: Mcp-Name is missing");
  std::string scratch;
  const auto decoded = decode_header(*header.value, scratch);
  if (!decoded || !rpc::json_string_equals(*name, *decoded)) {
    return mismatch("Header mismatch: Mcp-Name is not what the body names");
  }
  return std::nullopt;
}

// `version` is raw.
std::optional<ModernProblem> check_headers(const rpc::Envelope& request,
                                           const ModernHeaders& headers, std::string_view version) {
  if (headers.version.repeated || headers.method.repeated || headers.name.repeated) {
    return mismatch("Header mismatch: a header is there twice");
  }
  if (!headers.version.value) return mismatch("Header mismatch: MCP-Protocol-Version is missing");
  if (!rpc::json_string_equals(version, *headers.version.value)) {
    return mismatch("Header mismatch: MCP-Protocol-Version is not the version in _meta");
  }
  if (!headers.method.value) return mismatch("Header mismatch: Mcp-Method is missing");
  if (!rpc::json_string_equals(request.method, *headers.method.value)) {
    return mismatch("Header mismatch: Mcp-Method is not the method of the body");
  }
  return std::nullopt;
}

std::optional<ModernProblem> check(const rpc::Envelope& request, const McpParams& params,
                                   const ModernHeaders* headers) {
  const auto version = string_content(params.of_meta.version);
  if (!version) return malformed("_meta has no io.modelcontextprotocol/protocolVersion");
  if (headers != nullptr) {
    if (auto problem = check_headers(request, *headers, *version)) return problem;
  }
  std::string scratch;
  if (!rpc::json_string_equals(*version, kModernRevision)) {
    return problem(unsupported_version(rpc::decode_string(*version, scratch), true),
                   "unsupported protocol version");
  }
  if (auto problem = check_meta(params.of_meta)) return problem;
  const std::string_view method = request.decoded_method(scratch);
  if (std::ranges::find(kGone, method) != kGone.end()) {
    return problem(Error::method_not_found, "this revision of MCP does not have this method", 404);
  }
  const auto* const found = std::ranges::find(kNamed, method, &Named::method);
  if (found == kNamed.end()) return std::nullopt;
  return check_name(params.*found->member, headers == nullptr ? nullptr : &headers->name);
}

}  // namespace

std::optional<std::string_view> decode_header(std::string_view value, std::string& scratch) {
  const bool is_encoded = value.size() >= kEncodedHead.size() + kEncodedTail.size() &&
                          value.starts_with(kEncodedHead) && value.ends_with(kEncodedTail);
  if (is_encoded) {
    value.remove_prefix(kEncodedHead.size());
    value.remove_suffix(kEncodedTail.size());
    if (value.size() % 4 != 0) return std::nullopt;
    for (int padding = 0; padding < 2 && value.ends_with('='); ++padding) value.remove_suffix(1);
    auto decoded = decode_base64(value, Base64Alphabet::standard);
    if (!decoded) return std::nullopt;
    scratch = std::move(*decoded);
    return scratch;
  }
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
  if (!std::ranges::all_of(value, is_plain)) return std::nullopt;
  return value;
}

bool has_modern(const rpc::Document& document) {
  return std::ranges::any_of(document.messages, [](const rpc::ParsedMessage& message) {
    return message.ok() && !modern_version(message.envelope).empty();
  });
}

std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const McpParams& params,
                                          const ModernHeaders& headers) {
  return check(request, params, &headers);
}

std::optional<ModernProblem> check_modern(const rpc::Envelope& request, const McpParams& params) {
  return check(request, params, nullptr);
}

int modern_status(int64_t error_code) {
  if (error_code == rpc::rpc_error_code(Error::method_not_found)) return 404;
  constexpr std::array kOfTheRequest = {Error::header_mismatch, Error::missing_capability,
                                        Error::unsupported_version};
  const auto has_code = [error_code](Error error) {
    return rpc::rpc_error_code(error) == error_code;
  };
  return std::ranges::any_of(kOfTheRequest, has_code) ? 400 : 200;
}

}  // namespace stdgate::mcp
