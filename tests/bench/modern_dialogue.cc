#include "tests/bench/modern_dialogue.h"

namespace stdgate::bench {

void ModernDialogue::begin() {
  prepare_calls(
      "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
      "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n");
  ++tally_.ready;
}

HttpDialogue::Checked ModernDialogue::on_answer(const HttpAnswer& answer, Instant now) {
  if (!book_.is_open(0)) return tl::unexpected(std::string("an answer that nobody asked for"));
  close_call(answer, message_of(answer), now);
  call_again(now);
  return {};
}

}  // namespace stdgate::bench
