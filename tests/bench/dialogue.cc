#include "tests/bench/dialogue.h"

#include <utility>

#include "tests/bench/http_dialogue.h"
#include "tests/bench/idle_stream_dialogue.h"
#include "tests/bench/line_dialogue.h"
#include "tests/bench/mcp_dialogue.h"
#include "tests/bench/websocket_dialogue.h"

namespace stdgate::bench {

std::unique_ptr<Dialogue> make_dialogue(const LoadOptions& options, size_t client, Channel& channel,
                                        Tally& tally) {
  if (options.mode == LoadMode::idle_sse) {
    return std::make_unique<IdleStreamDialogue>(options, channel, tally);
  }
  CallForm form = options.method == "sleep" ? CallForm::sleep : CallForm::plain;
  if (options.mode == LoadMode::mcp) form = CallForm::tool;
  if (options.mode == LoadMode::modern) form = CallForm::modern_tool;
  const bool idle = options.mode == LoadMode::idle_ws;
  CallBook book(CallText(form, client, idle ? CallText::kLeastPayload : options.payload_bytes,
                         options.sleep_ms),
                options.in_flight, tally);
  switch (options.mode) {
    case LoadMode::mcp:
      return std::make_unique<McpDialogue>(options, std::move(book), channel, tally);
    case LoadMode::modern:
      return std::make_unique<ModernDialogue>(options, std::move(book), channel, tally);
    case LoadMode::ws:
    case LoadMode::idle_ws:
      return std::make_unique<WebSocketDialogue>(options, std::move(book), channel, tally);
    case LoadMode::pipe:
      return std::make_unique<LineDialogue>(std::move(book), channel, tally);
    default:
      return std::make_unique<HttpDialogue>(options, std::move(book), channel, tally);
  }
}

}  // namespace stdgate::bench
