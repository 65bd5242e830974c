// The revisions of the Model Context Protocol with a handshake, and what each has. The only place
// that decides which era a message is of; revisions from 2026-07-28 on have no sessions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/rpc/envelope.h"

namespace stdgate {

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

// A message of the era without sessions: the version that it names, raw; empty: it is none. Such a
// message says so in params._meta.
std::string_view modern_version(const Envelope& request);

}  // namespace stdgate
