// MarkedTools: the arguments of tools that a request repeats in header fields (MCP 2026-07-28,
// transports: custom headers from tool parameters), learnt from the lists that pass.
//
// Owner: a Remote. Limit: kMaxTools tools with such arguments. Arguments of further tools are not
// repeated, which the server will refuse.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/mcp/param_headers.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

class MarkedTools {
 public:
  static constexpr size_t kMaxTools = 1000;

  // Learns from an answer to tools/list.
  void learn(const rpc::Envelope& answer);
  // Whether the tool has such arguments.
  [[nodiscard]] bool knows(std::string_view tool) const { return tools_.contains(tool); }
  // Appends the header fields of a call of this tool. `params` is raw.
  void append_fields(std::string_view tool, std::string_view params,
                     std::vector<std::string>& fields) const;

 private:
  std::map<std::string, mcp::MarkedTool, std::less<>> tools_;
};

}  // namespace stdgate::remote
