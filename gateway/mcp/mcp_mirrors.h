// McpMirrors: the arguments that a client of MCP's modern era repeats in header fields
// `Mcp-Param-NAME` (2026-07-28, transports: custom headers from tool parameters).
//
// A tool whose marks break the rules there is one that clients have to leave out: it has none.
// Limits: kMaxPath keys lead to an argument.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/mcp/mcp_revision.h"
#include "gateway/pool/mirror_dialect.h"

namespace stdgate::mcp {

class McpMirrors final : public pool::MirrorDialect {
 public:
  static constexpr size_t kMaxPath = 16;
  // What the names of such fields begin with, in lower case.
  static constexpr std::string_view kFieldPrefix = "mcp-param-";

  // `stamp`: the members of _meta that a request of the gateway has.
  explicit McpMirrors(std::string stamp) : stamp_(std::move(stamp)) {}

  [[nodiscard]] uint8_t list() const override { return kMcpLists[0].bit; }
  [[nodiscard]] std::string_view list_method() const override { return "tools/list"; }
  [[nodiscard]] std::string list_request(std::string_view cursor) const override;
  [[nodiscard]] bool may_mark(const rpc::Envelope& answer) const override;
  [[nodiscard]] std::optional<pool::ToolPage> read_page(const rpc::Envelope& answer) const override;
  [[nodiscard]] std::string_view called_tool(const rpc::Envelope& request,
                                             std::string& scratch) const override;
  [[nodiscard]] std::optional<std::string> mismatch(const pool::MarkedTool& tool,
                                                    const rpc::Envelope& request,
                                                    std::string_view fields) const override;

 private:
  const std::string stamp_;
};

}  // namespace stdgate::mcp
