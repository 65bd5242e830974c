// McpDialogue: MCP sessions over Streamable HTTP (revision 2025-06-18), which call the tool "echo"
// in turn. Answers are JSON, or an event stream that ends with the answer. A single session is
// ended by DELETE. If there are many, they are not ended.
//
// ModernDialogue: calls of the tool "echo" in MCP's modern era (2026-07-28). Each is a POST without
// a session.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/http_dialogue.h"

namespace stdgate::bench {

class McpDialogue : public HttpDialogue {
 public:
  using HttpDialogue::HttpDialogue;
  void begin() override;
  void begin_calls(Instant now) override;
  void end() override;

 protected:
  Checked on_answer(const HttpAnswer& answer, Instant now) override;

 private:
  enum class Step : uint8_t { initialize, initialized, calls, end };
  void initialize();
  Checked end_initialize(const HttpAnswer& answer);
  void call_in_turn(Instant now);

  Step step_ = Step::initialize;
  std::vector<std::string> sessions_;  // header lines of each session
  size_t next_ = 0;                    // index of the session that calls next
};

class ModernDialogue : public HttpDialogue {
 public:
  using HttpDialogue::HttpDialogue;
  void begin() override;

 protected:
  Checked on_answer(const HttpAnswer& answer, Instant now) override;
};

}  // namespace stdgate::bench
