// ModernDialogue: calls of the tool "echo" in MCP's modern era (2026-07-28), a POST each: there is
// nothing to open and nothing to end.
#pragma once

#include "tests/bench/http_dialogue.h"

namespace stdgate::bench {

class ModernDialogue : public HttpDialogue {
 public:
  using HttpDialogue::HttpDialogue;
  void begin() override;

 protected:
  Checked on_answer(const HttpAnswer& answer, Instant now) override;
};

}  // namespace stdgate::bench
