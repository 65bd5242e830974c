#include "gateway/mcp/mcp_revision.h"

#include <algorithm>

#include "gateway/rpc/json_reader.h"

namespace stdgate::mcp {

std::optional<McpRevision> parse_mcp_revision(std::string_view text) {
  const auto found = std::find(kMcpRevisions.begin(), kMcpRevisions.end(), text);
  if (found == kMcpRevisions.end()) return std::nullopt;
  return static_cast<McpRevision>(kMcpRevisions.end() - found - 1);
}

const McpListing* find_listing(std::string_view method) {
  const auto* const found = std::ranges::find(kMcpListings, method, &McpListing::method);
  return found == kMcpListings.end() ? nullptr : found;
}

std::string_view agreed_mcp_revision(std::string_view greeting) {
  const std::string_view asked =
      rpc::find_member(greeting, "protocolVersion").value_or(std::string_view());
  const auto known =
      asked.size() < 2 ? std::nullopt : parse_mcp_revision(asked.substr(1, asked.size() - 2));
  return known ? mcp_revision_text(*known) : kMcpRevisions.front();
}

std::string_view modern_version(const rpc::Envelope& request) {
  // Saves the walk through a large payload. Some encoders escape every slash.
  const std::string_view params = request.params;
  const bool may_be_escaped = params.find('\\') != std::string_view::npos;
  if (!may_be_escaped && (params.find(kMetaKey) == std::string_view::npos ||
                          params.find(kVersionKey) == std::string_view::npos)) {
    return {};
  }
  const auto meta = rpc::find_member(params, kMetaKey);
  return meta ? rpc::find_member(*meta, kVersionKey).value_or(std::string_view())
              : std::string_view();
}

}  // namespace stdgate::mcp
