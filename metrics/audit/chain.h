// Chain: what binds the lines of an audit to each other: each begins with its number and the
// SHA-256 of the line before it.
//
//   {"sequence":7,"previous":"9f86d081…",…}
//
// Pure: no files. A line is hashed without its line end. The rest of a line that a crash has torn
// has no number; the line behind it says how long the rest is ("torn":41) and has its digest.
// Owner: an AuditLog, or a verification.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transports/auth/digest.h"

namespace stdgate::audit {

// Of a whole line: longer ones are not written, and not read either.
inline constexpr size_t kMaxLine = 64 << 10;

// As lower-case hex.
using DigestText = std::array<char, 64>;
inline std::string_view view_of(const DigestText& text) { return {text.data(), text.size()}; }

class Hasher {
 public:
  [[nodiscard]] DigestText of(std::string_view text);

 private:
  auth::Sha256 sha256_;
};

// The end of a chain, which the next line continues.
struct ChainEnd {
  uint64_t sequence = 0;  // of the last line; 0: none
  DigestText digest{};    // of the last line, or of what is left of a torn one

  // The end of a chain without lines.
  static ChainEnd beginning();
};

// The beginning of a line.
struct LineHead {
  uint64_t sequence = 0;
  std::string_view previous;
  size_t torn = 0;  // bytes of the torn line before; 0: none
};

// Nothing: it is no line of an audit.
std::optional<LineHead> read_line_head(std::string_view line);
// Whether `text` may be the beginning of a chain's first line.
bool is_begun_line(std::string_view text);
// Appends `{"sequence":…,"previous":"…"` of the line behind `end`.
void append_line_head(std::string& out, const ChainEnd& end, size_t torn = 0);

}  // namespace stdgate::audit
