// The arguments that a client of MCP's modern era repeats in header fields `Mcp-Param-NAME`, so
// that whoever forwards the request can read them, and that have to be the same in both places
// (2026-07-28, transports: custom headers from tool parameters).
//
// Which arguments these are, the list of tools says. A tool whose marks break the rules there is
// one that clients have to leave out: it has none. Limits: kMaxMarks marks of a tool, as their
// names are compared with each other; kMaxPath keys lead to an argument.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

inline constexpr size_t kMaxMarks = 32;
inline constexpr size_t kMaxPath = 16;
// What the names of such fields begin with, in lower case.
inline constexpr std::string_view kParamPrefix = "mcp-param-";
inline constexpr std::string_view kToolList = "tools/list";

// An argument of a tool that is repeated.
struct MarkedArgument {
  std::string field;              // the name that it is repeated under
  std::vector<std::string> path;  // the keys that lead to it within the arguments
};

// A tool, and those of its arguments.
struct MarkedTool {
  std::string name;
  std::vector<MarkedArgument> arguments;
};

// A part of the list of tools.
struct ToolPage {
  std::vector<MarkedTool> tools;
  std::string cursor;  // of the next part, raw JSON; empty: this is the last one
};

// A request for the part of the list at this cursor; empty: for the first. `stamp`: members of
// _meta.
std::string tool_list_request(std::string_view cursor, std::string_view stamp);
// Whether the answer may mark an argument at all. Spares the walk through a large list.
bool may_mark(const rpc::Envelope& answer);
// What an answer says. Nothing: it is no list.
std::optional<ToolPage> read_tool_page(const rpc::Envelope& answer);

// The tool that a request calls, decoded; empty: none. A view of `scratch`, or of the request.
std::string_view called_tool(const rpc::Envelope& request, std::string& scratch);
// Why what is repeated in `fields`, a line `NAME:VALUE` each, is not what the request says.
// Nothing: it is.
std::optional<std::string> header_mismatch(const MarkedTool& tool, const rpc::Envelope& request,
                                           std::string_view fields);

}  // namespace stdgate::mcp
