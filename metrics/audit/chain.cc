#include "metrics/audit/chain.h"

#include <algorithm>
#include <charconv>

namespace stdgate::audit {

namespace {

constexpr std::string_view kSequence = R"({"sequence":)";
constexpr std::string_view kPrevious = R"(,"previous":")";
constexpr std::string_view kTorn = R"(","torn":)";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Takes `expected` from the front of `text`; false: it is not there.
bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool is_digest(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return kHexDigits.find(c) != std::string_view::npos; });
}

}  // namespace

DigestText Hasher::of(std::string_view text) {
  DigestText out{};
  size_t at = 0;
  for (const uint8_t byte : sha256_.of(text)) {
    out[at++] = kHexDigits[byte >> 4];
    out[at++] = kHexDigits[byte & 15];
  }
  return out;
}

ChainEnd ChainEnd::beginning() {
  ChainEnd end;
  end.digest.fill('0');
  return end;
}

std::optional<LineHead> read_line_head(std::string_view line) {
  LineHead head;
  if (line.size() > kMaxLine || !line.ends_with('}')) return std::nullopt;
  if (!take(line, kSequence) || !take_number(line, head.sequence) || head.sequence == 0 ||
      !take(line, kPrevious)) {
    return std::nullopt;
  }
  head.previous = line.substr(0, DigestText().size());
  if (head.previous.size() < DigestText().size() || !is_digest(head.previous)) return std::nullopt;
  line.remove_prefix(head.previous.size());
  if (take(line, kTorn)) {
    if (!take_number(line, head.torn) || head.torn == 0) return std::nullopt;
    return line.starts_with(',') ? std::optional(head) : std::nullopt;
  }
  return line.starts_with("\",") ? std::optional(head) : std::nullopt;
}

bool is_begun_line(std::string_view text) {
  return text.starts_with(kSequence) || (!text.empty() && kSequence.starts_with(text));
}

void append_line_head(std::string& out, const ChainEnd& end, size_t torn) {
  out.append(kSequence).append(std::to_string(end.sequence + 1));
  out.append(kPrevious).append(view_of(end.digest));
  if (torn == 0) {
    out += '"';
  } else {
    out.append(kTorn).append(std::to_string(torn));
  }
}

}  // namespace stdgate::audit
