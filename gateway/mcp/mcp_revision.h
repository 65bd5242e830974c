// The revisions of the Model Context Protocol that have a handshake, and what each offers. The only
// place that tells them from the revisions without sessions, from 2026-07-28 on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

enum class McpRevision : uint8_t { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25 };

// Newest first.
inline constexpr std::array<std::string_view, 4> kMcpRevisions = {"2025-11-25", "2025-06-18",
                                                                  "2025-03-26", "2024-11-05"};

// Nothing for a text that names none of these.
std::optional<McpRevision> parse_mcp_revision(std::string_view text);

// JSON-RPC batches: gone with 2025-06-18.
constexpr bool has_batches(McpRevision revision) { return revision <= McpRevision::v2025_03_26; }
// Streams begin with an event that has an id and no data.
constexpr bool has_priming_events(McpRevision revision) {
  return revision >= McpRevision::v2025_11_25;
}

// The version, raw, that a message of the revisions without sessions names in params._meta; empty
// for any other message.
std::string_view modern_version(const rpc::Envelope& request);

}  // namespace stdgate::mcp
