// UTF-8: where a sequence ends, and cuts that do not split one.
#include "gateway/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace stdgate {
namespace {

constexpr size_t kMaxSequence = 4;

// The size that `lead` announces; 0 for a byte that begins no sequence.
size_t announced_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  return lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

}  // namespace

size_t utf8_sequence_size(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t size = announced_size(lead);
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!is_continuation(byte(i))) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

size_t incomplete_utf8_tail(std::string_view text) {
  for (size_t tail = 1; tail < kMaxSequence && tail <= text.size(); ++tail) {
    const auto byte = static_cast<uint8_t>(text[text.size() - tail]);
    if (is_continuation(byte)) continue;
    return announced_size(byte) > tail ? tail : 0;
  }
  return 0;
}

std::string_view cut_utf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  const std::string_view cut = text.substr(0, limit);
  return cut.substr(0, cut.size() - incomplete_utf8_tail(cut));
}

}  // namespace stdgate
