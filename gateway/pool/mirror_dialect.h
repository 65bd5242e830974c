// MirrorDialect: what a protocol says of arguments that a client repeats beside its message, so
// that whoever forwards the message can read them (fields of an HTTP head), and that have to be the
// same in both places.
//
// Which arguments these are, the list of a child's tools says. Stateless; part of the dialect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rpc/envelope.h"

namespace stdgate::pool {

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

class MirrorDialect {
 public:
  // Of one tool. Their names are compared with each other, so one with more of them has none.
  static constexpr size_t kMaxMarks = 32;

  virtual ~MirrorDialect() = default;

  // The list of tools, as Audience::list names its changes.
  [[nodiscard]] virtual uint8_t list() const = 0;
  // The method that lists tools, and a request for the part at this cursor; empty: for the first.
  [[nodiscard]] virtual std::string_view list_method() const = 0;
  [[nodiscard]] virtual std::string list_request(std::string_view cursor) const = 0;
  // Whether the answer may mark an argument at all. Spares the walk through a large list.
  [[nodiscard]] virtual bool may_mark(const rpc::Envelope& answer) const = 0;
  // What an answer says. Nothing: it is no list.
  [[nodiscard]] virtual std::optional<ToolPage> read_page(const rpc::Envelope& answer) const = 0;

  // The tool that a request calls, decoded; empty: none. A view of `scratch`, or of the request.
  [[nodiscard]] virtual std::string_view called_tool(const rpc::Envelope& request,
                                                     std::string& scratch) const = 0;
  // Why what is repeated in `fields`, a line `NAME:VALUE` each, is not what the request says.
  // Nothing: it is.
  [[nodiscard]] virtual std::optional<std::string> mismatch(const MarkedTool& tool,
                                                            const rpc::Envelope& request,
                                                            std::string_view fields) const = 0;
};

}  // namespace stdgate::pool
