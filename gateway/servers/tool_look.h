// The look of a member's elements in a virtual server: names, descriptions, arguments. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/config/config.h"

namespace stdgate::servers {

// The name of a tool, as interfaces of language models take it: at most config::kMaxShownName
// characters of [A-Za-z0-9_-]. Another name is cut, and gets a hash of itself at the end. The
// result is the same each time.
std::string shown_tool_name(std::string_view prefix, std::string_view name);

// Whether a member with this prefix may show an element under this name.
bool may_be_of(std::string_view prefix, std::string_view shown);

// The tool's name after `tools.rename`, without the prefix.
std::string_view renamed(const config::MemberToolsConfig& tools, std::string_view own);

// Whether clients may take a tool: its schema is one (MCP, schema, Tool). An error is a constant
// phrase.
tl::expected<void, const char*> check_tool(std::string_view tool);

// An element (raw JSON) under this name. `name` is its renamed one, without the prefix: what the
// keys of `tools` are.
std::string tool_as_shown(std::string_view tool, std::string_view shown, std::string_view name,
                          const config::MemberToolsConfig& tools);
std::string prompt_as_shown(std::string_view prompt, std::string_view shown);

// The arguments of a call (raw JSON; empty: none) as the member gets them.
std::string arguments_for_member(std::string_view arguments, std::string_view name,
                                 const config::MemberToolsConfig& tools);
// Whether these may be others than what the client sent.
bool has_arguments_for(std::string_view name, const config::MemberToolsConfig& tools);
// An argument of `fix` or `defaults` that the tool does not have; empty: it has all.
std::string missing_argument(std::string_view tool, std::string_view name,
                             const config::MemberToolsConfig& tools);

}  // namespace stdgate::servers
