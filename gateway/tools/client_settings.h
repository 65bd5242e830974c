// The settings of MCP clients as texts: JSON with comments and commas at ends, as VS Code has it,
// or TOML (Codex). Finds the servers that they start, and makes the same text with other commands.
// Pure. Limit: kMaxSettingsDepth of nesting.
//
// Everything else stays byte for byte. The result is parsed again and compared. So a text that is
// written in an unexpected way is refused, and not damaged.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/json_node.h"

namespace stdgate::tools {

inline constexpr size_t kMaxSettingsDepth = 64;
inline constexpr size_t kMaxClientFile = 64 << 20;  // Claude Code keeps its history in it

tl::expected<JsonNode, std::string> read_settings(std::string_view text);
// The servers, from the key that a client has for them: mcpServers, servers, mcp.servers (VS Code),
// context_servers (Zed), mcp_servers (Codex).
tl::expected<JsonNode, std::string> read_servers(std::string_view text);

// The parts of a server's entry that hold its command.
struct ServerParts {
  const JsonNode& owner;  // the object that has them
  std::string_view program_key;
  const JsonNode* program;  // null, like `args` and `env`: absent
  const JsonNode* args;
  const JsonNode* env;
};
ServerParts parts_of(const JsonNode& server);

// Whether a server with these words is `stdgate connect`.
bool is_connect(std::string_view program, std::string_view first_argument);
// The names of those.
tl::expected<std::set<std::string>, std::string> connected_servers(std::string_view text);

// The command of one server, by its name there.
using ServerCommands = std::map<std::string, std::vector<std::string>>;

// `text` with these commands; what these servers have as `env` is taken out. The error is a
// sentence.
tl::expected<std::string, std::string> with_commands(std::string_view text,
                                                     const ServerCommands& commands);

// `text` with the entries that `original` has of the servers with these names. Those that one of
// both texts does not have stay as they are.
tl::expected<std::string, std::string> with_entries_of(std::string_view text,
                                                       std::string_view original,
                                                       const std::set<std::string>& names);

}  // namespace stdgate::tools
