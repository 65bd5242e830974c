// UTF-8: where a sequence ends, and cuts that do not split one.
#pragma once

#include <cstddef>
#include <string_view>

namespace stdgate {

// U+FEFF, which some editors put at the front of a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The size of the well-formed sequence at the front of `text`, which is not empty. 0: there is none
// (Unicode standard, table 3-7).
size_t utf8_sequence_size(std::string_view text);

// Number of bytes at the end of `text` that begin a sequence without completing it; 0 to 3.
size_t incomplete_utf8_tail(std::string_view text);

// The first `limit` bytes of `text`, or up to 3 fewer, so that no sequence is split.
std::string_view cut_utf8(std::string_view text, size_t limit);

}  // namespace stdgate
