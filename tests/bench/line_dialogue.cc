#include "tests/bench/line_dialogue.h"

#include <cstring>
#include <utility>

namespace stdgate::bench {

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

}  // namespace stdgate::bench
