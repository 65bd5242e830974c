// What an MCP client's settings say about its servers: claude_desktop_config.json, .mcp.json,
// Cursor's mcp.json (`mcpServers`), VS Code's mcp.json and settings.json (`servers`). Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/backend_yaml.h"

namespace stdgate::tools {

struct ImportedServers {
  std::vector<BackendLines> backends;
  // What was left out or changed, and what has to be done: one sentence each.
  std::vector<std::string> warnings;
};

// What the settings do not say themselves.
struct ImportSurroundings {
  std::string workspace;  // the folder that they are of; empty: it is not known
  std::function<bool(const std::string& file)> has_file = [](const std::string&) { return true; };
};

// `text` is JSON, with comments and commas at ends as VS Code has them. Values of env that look
// like secrets, or hold a password, become references to variables of stdgate's own environment.
tl::expected<ImportedServers, std::string> import_servers(
    std::string_view text, const ImportSurroundings& surroundings = {});

}  // namespace stdgate::tools
