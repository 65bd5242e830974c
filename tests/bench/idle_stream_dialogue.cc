#include "tests/bench/idle_stream_dialogue.h"

#include "tests/bench/http_answer.h"

namespace stdgate::bench {

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
