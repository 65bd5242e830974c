#include "tests/bench/dialogue.h"

#include <cstring>
#include <utility>

#include "tests/bench/http_dialogue.h"
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

LineDialogue::LineDialogue(CallBook book, Channel& channel, Tally& tally)
    : Dialogue(tally), channel_(channel), book_(std::move(book)), line_(book_.request()) {
  line_.bytes += '\n';
}

void LineDialogue::begin() { ++tally_.ready; }

void LineDialogue::begin_calls(Instant now) {
  for (size_t slot = 0; slot < book_.slots(); ++slot) call(slot, now);
}

void LineDialogue::call(size_t slot, Instant now) {
  if (!tally_.calling) return;
  line_.patch(book_.open(slot, now));
  if (book_.slots() == 1) {
    channel_.send_kept(line_.bytes);
  } else {
    channel_.send(line_.bytes);
  }
}

tl::expected<size_t, std::string> LineDialogue::take(std::span<char> bytes, Instant now) {
  size_t taken = 0;
  for (;;) {
    char* const begin = bytes.data() + taken;
    char* const from = begin + searched_;
    const size_t left = bytes.size() - taken - searched_;
    auto* const end = static_cast<char*>(std::memchr(from, '\n', left));
    if (end == nullptr) break;
    searched_ = 0;
    if (const auto slot = book_.close({begin, end}, now)) call(*slot, now);
    taken += static_cast<size_t>(end - begin) + 1;
  }
  searched_ = bytes.size() - taken;
  return taken;
}

void IdleStreamDialogue::begin() {
  channel_.send("GET " + options_.path + " HTTP/1.1\r\nHost: " + options_.host + ":" +
                std::to_string(options_.port) + "\r\nAccept: text/event-stream\r\n" +
                options_.fields + "\r\n");
}

tl::expected<size_t, std::string> IdleStreamDialogue::take(std::span<char> bytes, Instant /*now*/) {
  if (open_) return bytes.size();
  const auto answer = read_http_head(bytes);
  if (!answer) return tl::unexpected(std::string(answer.error()));
  if (answer->size == 0) return 0;
  if (answer->status != 200) return tl::unexpected("status " + std::to_string(answer->status));
  open_ = true;
  ++tally_.ready;
  return bytes.size();
}

}  // namespace stdgate::bench
