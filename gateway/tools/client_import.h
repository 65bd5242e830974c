// The MCP clients whose servers `stdgate add` and `stdgate adopt` take: their files, how they refer
// to variables, and what their servers are as backends. Settings are read from
// claude_desktop_config.json, .mcp.json, Cursor's mcp.json and Gemini CLI's settings.json
// (`mcpServers`), VS Code's mcp.json and settings.json (`servers`), Zed's settings.json
// (`context_servers`), Codex's config.toml (`mcp_servers`). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/config_parser.h"
#include "gateway/tools/gateway_yaml.h"

namespace stdgate::tools {

// How a client's settings name variables.
enum class References : uint8_t {
  none,      // every text stands for itself
  shell,     // ${NAME}, ${NAME:-default}
  editor,    // ${env:NAME}, ${userHome}; others only the editor knows
  unbraced,  // $NAME and ${NAME}
};

// A client whose servers can be adopted, and where its file stands.
struct AdoptedClient {
  std::string_view word;   // on the command line
  std::string_view title;  // "Claude Desktop"
  References references = References::none;
  // A variable that names the folder of its file, and the file there; empty: none does.
  std::string_view folder_variable = {};
  std::string_view file_in_folder = {};
  // Below XDG_CONFIG_HOME, or ~/.config; empty: it does not stand there.
  std::string_view file_in_config = {};
  std::string_view file_in_home = {};
  // On macOS, below the home directory; empty: as elsewhere.
  std::string_view file_on_macos = {};
};

std::span<const AdoptedClient> adopted_clients();
// Null: no such client.
const AdoptedClient* find_adopted_client(std::string_view word);

// Where its file may be, the likeliest first.
std::vector<std::string> files_of(const AdoptedClient& client,
                                  const config::Environment& variables);

// `text` as the client reads it. The error is the rest of "left out, as …".
tl::expected<std::string, std::string> resolved(std::string_view text, References references,
                                                const config::Environment& variables);

// A client's servers as backends.
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
  // The environment of the client, which resolves its references. Null: references stay, and
  // secrets become references.
  config::Environment environment = nullptr;
  References references = References::none;  // with `environment`
};

// `text` is JSON, with comments and commas at ends as VS Code has them, or TOML. Values of env that
// look like secrets, or hold a password, become references to variables of stdgate's own
// environment. A server that is `stdgate connect` already is left out.
tl::expected<ImportedServers, std::string> import_servers(
    std::string_view text, const ImportSurroundings& surroundings = {});

}  // namespace stdgate::tools
