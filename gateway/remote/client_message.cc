#include "gateway/remote/client_message.h"

#include <algorithm>
#include <utility>

#include "gateway/base/base64.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::remote {

namespace {

std::string decoded(std::string_view value) {
  std::string scratch;
  return std::string(rpc::decode_string(rpc::string_content(value), scratch));
}

// The member of params whose value the Mcp-Name field repeats.
std::string_view target_key(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method.starts_with("resources/")) return "uri";
  return method.starts_with("tasks/") ? "taskId" : std::string_view();
}

void read_request(const rpc::Envelope& envelope, ClientMessage& message) {
  std::string scratch;
  message.method = envelope.decoded_method(scratch);
  const std::string_view version = mcp::modern_version(envelope);
  message.version = decoded(version);
  if (const std::string_view key = target_key(message.method); !key.empty()) {
    message.target = decoded(rpc::member_or_empty(envelope.params, key));
  }
  if (message.method == "notifications/cancelled") {
    message.cancelled = rpc::member_or_empty(envelope.params, "requestId");
  }
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }) &&
         !text.starts_with(' ') && !text.ends_with(' ') && !text.starts_with("=?base64?");
}

}  // namespace

ClientMessage read_client_message(const rpc::Document& document, std::string_view text) {
  ClientMessage message;
  message.text = text;
  message.is_batch = document.batch;
  for (const rpc::ParsedMessage& one : document.messages) {
    if (!one.ok() || one.envelope.kind != rpc::MessageKind::request) continue;
    message.requests.emplace_back(one.envelope.id);
  }
  const rpc::Envelope& first = document.messages[0].envelope;
  message.kind = first.kind;
  if (document.batch) return message;
  message.id = first.id;
  if (!first.method.empty()) read_request(first, message);
  return message;
}

std::string field_value_of(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string encoded = encode_base64url(text);
  std::ranges::replace(encoded, '-', '+');
  std::ranges::replace(encoded, '_', '/');
  encoded.append((4 - encoded.size() % 4) % 4, '=');
  return "=?base64?" + encoded + "?=";
}

}  // namespace stdgate::remote
