// ToolLock: the definitions of a server's tools, prompts and templates that are pinned, as a lock
// file has them.
//
// Definitions are compared as canonical JSON (RFC 8785), all members of them. The digests in the
// file are for people and for other programs. Owner: the reader of the file. Limits: the limits of
// a configuration's file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/observer.h"

namespace stdgate::mcp {

// The lists whose elements are pinned. The first two have the indexes of kMcpListings.
inline constexpr std::array kPinnedLists = {listing_of(McpListKind::tools),
                                            listing_of(McpListKind::prompts),
                                            listing_of(McpListKind::templates)};

class ToolLock {
 public:
  using Definitions = std::map<std::string, std::string, std::less<>>;  // canonical, by name

  // The pins of one server in a lock file; an empty text has none. The error says what is wrong.
  static tl::expected<ToolLock, std::string> read(std::string_view text, std::string_view server);
  // The pins of all servers, by name.
  static tl::expected<std::map<std::string, ToolLock>, std::string> read_all(std::string_view text);

  [[nodiscard]] const Definitions& of(McpListKind kind) const {
    return definitions_[static_cast<size_t>(kind)];
  }
  Definitions& of(McpListKind kind) { return definitions_[static_cast<size_t>(kind)]; }
  [[nodiscard]] bool has(McpListKind kind, std::string_view name) const {
    return of(kind).contains(name);
  }
  // The state of an element as a server lists it, raw JSON.
  [[nodiscard]] PinState state_of(McpListKind kind, std::string_view name,
                                  std::string_view element) const;
  [[nodiscard]] bool empty() const;

 private:
  std::array<Definitions, kMcpListings.size()> definitions_;
};

}  // namespace stdgate::mcp
