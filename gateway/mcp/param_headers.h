// Arguments that a modern client repeats in header fields `Mcp-Param-NAME`, for intermediaries that
// forward the request. Both copies have to be equal (2026-07-28, transports: custom headers from
// tool parameters).
//
// The list of tools marks these arguments. Clients have to ignore the marks of a tool if a mark
// breaks the rules, so such a tool has none here. Limits: kMaxMarks marks of a tool, because their
// names are compared with each other; kMaxPath keys that lead to an argument.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

inline constexpr size_t kMaxMarks = 32;
inline constexpr size_t kMaxPath = 16;
// The prefix of the names of such fields, in lower case.
inline constexpr std::string_view kParamPrefix = "mcp-param-";
inline constexpr std::string_view kToolList = listing_of(McpListKind::tools).method;

// An argument of a tool that clients repeat in a header field.
struct MarkedArgument {
  std::string field;              // name of the header field, without the prefix
  std::vector<std::string> path;  // keys that lead to the argument
};

// A tool and its marked arguments.
struct MarkedTool {
  std::string name;
  std::vector<MarkedArgument> arguments;
};

// A page of the list of tools.
struct ToolPage {
  std::vector<MarkedTool> tools;
  std::string cursor;  // of the next page, raw JSON; empty: this is the last page
};

// Whether the answer may mark an argument at all. Saves the walk through a large list.
bool may_mark(const rpc::Envelope& answer);
// The page in an answer. Nothing: the answer is no list.
std::optional<ToolPage> read_tool_page(const rpc::Envelope& answer);

// The tool that a request calls, decoded; empty: none. A view of `scratch`, or of the request.
std::string_view called_tool(const rpc::Envelope& request, std::string& scratch);
// Why `fields`, lines `NAME:VALUE`, contradict the arguments of the request. Nothing: they agree.
std::optional<std::string> header_mismatch(const MarkedTool& tool, const rpc::Envelope& request,
                                           std::string_view fields);

}  // namespace stdgate::mcp
