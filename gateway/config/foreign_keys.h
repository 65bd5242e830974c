// Keys that other programs have and stdgate has not, and the line to write instead: of MCP clients
// (`mcpServers`, `args`), of web servers (`cert`), of container files (`environment`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/section_reader.h"

namespace stdgate::config {

// The text to write in place of `entry` in `section`, whose keys are `known`. Nothing: no known
// program has this key.
std::optional<std::string> foreign_key_hint(const Value& entry, const Section& section,
                                            const std::vector<std::string_view>& known);

// "command: ["npx", "-y", "server"]", of a section with `command` and `args`; nothing: it has not
// both.
std::optional<std::string> command_with_args(const Section& section);

// The words of a command that reaches a server by its URL, as they may be shown.
std::vector<std::string> connect_command(const std::string& url);

// ["npx", "server"]
std::string list_text(const std::vector<std::string>& words);

}  // namespace stdgate::config
