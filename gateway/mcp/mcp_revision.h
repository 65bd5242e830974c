// The revisions of the Model Context Protocol, and what each offers. Revisions with a handshake
// belong to the legacy era; only these are told apart. The modern era, where every request stands
// alone, begins with 2026-07-28.
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

inline constexpr std::string_view kModernRevision = "2026-07-28";

inline constexpr std::string_view kMetaKey = "_meta";
// Members of _meta in the modern era (MCP 2026-07-28, basic, _meta).
inline constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientInfoKey = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kClientCapabilitiesKey =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kRelatedTaskKey = "io.modelcontextprotocol/related-task";
// The extension io.modelcontextprotocol/tasks.
inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

// A kind of list: the capability that offers it, the notification of a change, and the member of
// subscriptions/listen that asks for changes.
struct McpList {
  uint8_t bit;
  std::string_view capability;
  std::string_view changed;
  std::string_view wish;
};
inline constexpr std::array<McpList, 3> kMcpLists = {
    {{1, "tools", "notifications/tools/list_changed", "toolsListChanged"},
     {2, "prompts", "notifications/prompts/list_changed", "promptsListChanged"},
     {4, "resources", "notifications/resources/list_changed", "resourcesListChanged"}}};

// What a server lists, in the order of kMcpListings.
enum class McpListKind : uint8_t { tools, prompts, resources, templates };

// A list, as messages, files and people call it. Resources and templates are one McpList.
struct McpListing {
  McpListKind kind;
  std::string_view method;
  std::string_view member;  // of the result: the elements
  std::string_view name;    // of an element: its name or URI
  std::string_view word;
  std::string_view singular;
  const McpList& list;
};
inline constexpr std::array<McpListing, 4> kMcpListings = {
    {{McpListKind::tools, "tools/list", "tools", "name", "tools", "tool", kMcpLists[0]},
     {McpListKind::prompts, "prompts/list", "prompts", "name", "prompts", "prompt", kMcpLists[1]},
     {McpListKind::resources, "resources/list", "resources", "uri", "resources", "resource",
      kMcpLists[2]},
     {McpListKind::templates, "resources/templates/list", "resourceTemplates", "uriTemplate",
      "templates", "template", kMcpLists[2]}}};
constexpr const McpListing& listing_of(McpListKind kind) {
  return kMcpListings[static_cast<size_t>(kind)];
}
static_assert(listing_of(McpListKind::tools).kind == McpListKind::tools &&
              listing_of(McpListKind::prompts).kind == McpListKind::prompts &&
              listing_of(McpListKind::resources).kind == McpListKind::resources &&
              listing_of(McpListKind::templates).kind == McpListKind::templates);
// Null: the method lists nothing of these.
const McpListing* find_listing(std::string_view method);

// The member of subscriptions/listen that names resources whose updates are wanted.
inline constexpr std::string_view kUpdatesWish = "resourceSubscriptions";
// The member that names tasks.
inline constexpr std::string_view kTasksWish = "taskIds";

// The notice to clients that the child of their session was replaced (docs/sessions.md).
inline constexpr std::string_view kRestartNotice =
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning",)"
    R"("logger":"stdgate","data":"the server was restarted; what it kept in memory is gone"}})";

// Nothing for a text that is none of kMcpRevisions.
std::optional<McpRevision> parse_mcp_revision(std::string_view text);
// A view that stays valid for good.
constexpr std::string_view mcp_revision_text(McpRevision revision) {
  return kMcpRevisions[kMcpRevisions.size() - 1 - static_cast<size_t>(revision)];
}
// The revision that a server which knows all of them agrees on with this greeting (params): the
// client's revision if it is known, else the newest.
std::string_view agreed_mcp_revision(std::string_view greeting);

// Whether the revision has JSON-RPC batches, which 2025-06-18 removed.
constexpr bool has_batches(McpRevision revision) { return revision <= McpRevision::v2025_03_26; }
// Whether streams begin with an event that has an id and no data.
constexpr bool has_priming_events(McpRevision revision) {
  return revision >= McpRevision::v2025_11_25;
}

// The version, raw, that a modern request names in params._meta; empty for any other message.
std::string_view modern_version(const rpc::Envelope& request);

}  // namespace stdgate::mcp
