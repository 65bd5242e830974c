// Reads the servers out of an MCP client's settings: claude_desktop_config.json, .mcp.json,
// Cursor's mcp.json and Gemini CLI's settings.json (`mcpServers`), VS Code's mcp.json and
// settings.json (`servers`), Zed's settings.json (`context_servers`), Codex's config.toml
// (`mcp_servers`). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/gateway_yaml.h"

namespace stdgate::tools {

struct ImportedServers {
  std::vector<BackendLines> backends;
  std::vector<std::string> names;  // what the client calls each of them
  // One sentence for each thing that was left out or changed, or that has to be done.
  std::vector<std::string> warnings;
};

// Facts that the settings do not have themselves.
struct ImportSurroundings {
  std::string workspace;       // the folder that they are of; empty: it is not known
  bool expands_names = false;  // $NAME stands for a variable in them
  std::function<bool(const std::string& file)> has_file = [](const std::string&) { return true; };
  // The value of a text whose references are resolved as the client does; the error says what it
  // lacks. Null: references stay, and secrets become references.
  std::function<tl::expected<std::string, std::string>(std::string_view text)> resolve = nullptr;
  // A variable that is passed on; only with `resolve`.
  std::function<std::optional<std::string>(const std::string& name)> variable = nullptr;
};

// `text` is JSON, with comments and commas at ends as VS Code has them, or TOML. Values of env that
// look like secrets, or hold a password, become references to variables of stdgate's own
// environment. A server that is `stdgate connect` already is left out.
tl::expected<ImportedServers, std::string> import_servers(
    std::string_view text, const ImportSurroundings& surroundings = {});

}  // namespace stdgate::tools
