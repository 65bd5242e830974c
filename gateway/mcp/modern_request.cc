#include "gateway/mcp/modern_request.h"

#include <algorithm>
#include <array>

#include "gateway/base/base64.h"
#include "gateway/mcp/era_bridge.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"
#include "gateway/session/log_verbosity.h"

namespace stdgate::mcp {

namespace {

constexpr std::string_view kEncodedHead = "=?base64?";
constexpr std::string_view kEncodedTail = "?=";

// Requests of the legacy era that are gone; a legacy child would answer them.
constexpr std::array<std::string_view, 8> kGone = {"initialize",
                                                   "ping",
                                                   "logging/setLevel",
                                                   "resources/subscribe",
                                                   "resources/unsubscribe",
                                                   "tasks/list",
                                                   "tasks/result",
                                                   "roots/list"};

// What Mcp-Name repeats.
struct Named {
  std::string_view method;
  std::string_view member;  // of params
};
constexpr std::array<Named, 6> kNamed = {{{"tools/call", "name"},
                                          {"prompts/get", "name"},
                                          {"resources/read", "uri"},
                                          {"tasks/get", "taskId"},
                                          {"tasks/update", "taskId"},
                                          {"tasks/cancel", "taskId"}}};

using Error = rpc::RpcError;

ModernProblem problem(Error error, const char* reason, int status = 400) {
  ModernProblem problem{status, {}, reason};
  rpc::append_error(problem.error, rpc::rpc_error_code(error), reason);
  return problem;
}

ModernProblem mismatch(const char* reason) { return problem(Error::header_mismatch, reason); }
ModernProblem malformed(const char* reason) { return problem(Error::invalid_params, reason); }

// The decoded text of a raw JSON string; nothing for anything else.
std::optional<std::string> text_of(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"') return std::nullopt;
  std::string scratch;
  return std::string(rpc::decode_string(raw.substr(1, raw.size() - 2), scratch));
}

bool is_object(std::string_view raw) { return !raw.empty() && raw.front() == '{'; }

std::optional<ModernProblem> check_meta(std::string_view meta) {
  const auto capabilities = rpc::find_member(meta, kClientCapabilitiesKey);
  if (!capabilities || !is_object(*capabilities)) {
    return malformed("_meta has no io.modelcontextprotocol/clientCapabilities");
  }
  const auto info = rpc::find_member(meta, kClientInfoKey);
  if (info ? !is_object(*info) : info.error() == rpc::MemberError::duplicate) {
    return malformed("io.modelcontextprotocol/clientInfo in _meta is no object");
  }
  const auto level = rpc::find_member(meta, kLogLevelKey);
  if (!level && level.error() == rpc::MemberError::absent) return std::nullopt;
  const auto name = level ? text_of(*level) : std::nullopt;
  if (!name || !session::parse_severity(*name)) {
    return malformed("io.modelcontextprotocol/logLevel in _meta is no log level");
  }
  return std::nullopt;
}

// `name_header`: null where there are no headers.
std::optional<ModernProblem> check_name(std::string_view params, std::string_view member,
                                        const ModernHeader* name_header) {
  const auto raw = rpc::find_member(params, member);
  const auto name = raw ? text_of(*raw) : std::nullopt;
  if (!name) return malformed("params do not name what is asked for");
  if (name_header == nullptr) return std::nullopt;
  const ModernHeader& header = *name_header;
  if (!header.value) return mismatch("Header mismatch: Mcp-Name is missing");
  if (decode_header(*header.value) != name) {
    return mismatch("Header mismatch: Mcp-Name is not what the body names");
  }
  return std::nullopt;
}

std::optional<ModernProblem> check_headers(const rpc::Envelope& request,
                                           const ModernHeaders& headers,
                                           const std::string& version) {
  if (headers.version.repeated || headers.method.repeated || headers.name.repeated) {
    return mismatch("Header mismatch: a header is there twice");
  }
  if (!headers.version.value) return mismatch("Header mismatch: MCP-Protocol-Version is missing");
  if (*headers.version.value != version) {
    return mismatch("Header mismatch: MCP-Protocol-Version is not the version in _meta");
  }
  if (!headers.method.value) return mismatch("Header mismatch: Mcp-Method is missing");
  if (!rpc::json_string_equals(request.method, *headers.method.value)) {
    return mismatch("Header mismatch: Mcp-Method is not the method of the body");
  }
  return std::nullopt;
}

std::optional<ModernProblem> check(const rpc::Envelope& request, const ModernHeaders* headers) {
  const auto meta = rpc::find_member(request.params, "_meta");
  const auto version = meta ? rpc::find_member(*meta, kVersionKey) : meta;
  const auto named = version ? text_of(*version) : std::nullopt;
  if (!named) return malformed("_meta has no io.modelcontextprotocol/protocolVersion");
  if (headers != nullptr) {
    if (auto problem = check_headers(request, *headers, *named)) return problem;
  }
  if (*named != kModernRevision) {
    return ModernProblem{400, unsupported_version_error(*named, true),
                         "unsupported protocol version"};
  }
  if (auto problem = check_meta(*meta)) return problem;
  std::string scratch;
  const std::string_view method = rpc::decode_string(request.method, scratch);
  if (std::ranges::find(kGone, method) != kGone.end()) {
    return problem(Error::method_not_found, "this revision of MCP does not have this method", 404);
  }
  const auto* const found = std::ranges::find(kNamed, method, &Named::method);
  if (found == kNamed.end()) return std::nullopt;
  return check_name(request.params, found->member, headers == nullptr ? nullptr : &headers->name);
}

}  // namespace

std::optional<std::string> decode_header(std::string_view value) {
  const bool is_encoded = value.size() >= kEncodedHead.size() + kEncodedTail.size() &&
                          value.starts_with(kEncodedHead) && value.ends_with(kEncodedTail);
  if (is_encoded) {
    value.remove_prefix(kEncodedHead.size());
    value.remove_suffix(kEncodedTail.size());
    if (value.size() % 4 != 0) return std::nullopt;
    for (int padding = 0; padding < 2 && value.ends_with('='); ++padding) value.remove_suffix(1);
    return decode_base64(value, Base64Alphabet::standard);
  }
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
  if (!std::ranges::all_of(value, is_plain)) return std::nullopt;
  return std::string(value);
}

bool has_modern(const rpc::Document& document) {
  return std::ranges::any_of(document.messages, [](const rpc::ParsedMessage& message) {
    return message.ok() && !modern_version(message.envelope).empty();
  });
}

std::optional<ModernProblem> check_modern(const rpc::Envelope& request,
                                          const ModernHeaders& headers) {
  return check(request, &headers);
}

std::optional<ModernProblem> check_modern(const rpc::Envelope& request) {
  return check(request, nullptr);
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
