// McpInput: sampling, elicitation and roots in both eras of MCP: requests of the server up to
// 2025-11-25, multi round-trip requests from 2026-07-28 on (basic/patterns/mrtr).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/pool/input_dialect.h"

namespace stdgate::mcp {

class McpInput final : public pool::InputDialect {
 public:
  [[nodiscard]] bool may_need_input(std::string_view method) const override;
  [[nodiscard]] pool::InputAnswers read_answers(const rpc::Envelope& request) const override;
  [[nodiscard]] std::string greeting_for(const rpc::Envelope& request) const override;
  [[nodiscard]] bool may_ask_first(std::string_view greeting) const override;
  [[nodiscard]] bool is_private(std::string_view method) const override;
  [[nodiscard]] std::string essence(const rpc::Envelope& request) const override;
  [[nodiscard]] std::string without_answers(const rpc::Envelope& request) const override;
  [[nodiscard]] pool::InputRuling judge(const rpc::Envelope& ask, std::string_view method,
                                        std::string_view greeting) const override;
  [[nodiscard]] std::vector<pool::InputRuling> demanded(const rpc::Envelope& error,
                                                        std::string_view greeting) const override;
  [[nodiscard]] std::string input_required(std::span<const pool::InputRequest> requests,
                                           std::string_view state) const override;
  [[nodiscard]] bool is_askable(std::string_view greeting) const override;
  [[nodiscard]] std::optional<pool::InputDemands> demands(
      const rpc::Envelope& answer) const override;
  [[nodiscard]] std::string with_answers(const rpc::Envelope& request, std::string_view answers,
                                         std::string_view state) const override;
  [[nodiscard]] bool is_consent(std::string_view answer) const override;
  [[nodiscard]] std::string ping(rpc::WireId id) const override;
  [[nodiscard]] call::Absence missing_capability(std::string_view capability) const override;
};

}  // namespace stdgate::mcp
