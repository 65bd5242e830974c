// McpDialogue: an MCP session over Streamable HTTP (revision 2025-06-18), then calls of the tool
// "echo". Answers are JSON, or an event stream that ends with the answer.
#pragma once

#include <string>

#include "tests/bench/http_dialogue.h"

namespace stdgate::bench {

class McpDialogue : public HttpDialogue {
 public:
  using HttpDialogue::HttpDialogue;
  void begin() override;
  void end() override;

 protected:
  Checked on_answer(const HttpAnswer& answer, Instant now) override;

 private:
  enum class Step : uint8_t { initialize, initialized, calls, end };
  Checked end_initialize(const HttpAnswer& answer);

  Step step_ = Step::initialize;
  std::string fields_;
};

}  // namespace stdgate::bench
