#include "gateway/config/api_key_file.h"

#include <algorithm>

#include "gateway/base/ascii.h"
#include "gateway/base/utf8.h"
#include "gateway/config/config_ranges.h"

namespace stdgate::config {
namespace {

constexpr std::string_view kHashMark = "sha256:";
constexpr size_t kHashDigits = 64;

bool is_hex_digit(char c) {
  const char lower = lower_ascii(c);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
}

bool is_visible(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

bool is_key_hash(std::string_view text) {
  return text.starts_with(kHashMark) && text.size() == kHashMark.size() + kHashDigits &&
         std::ranges::all_of(text.substr(kHashMark.size()), is_hex_digit);
}

bool is_api_key(std::string_view text) {
  return text.size() >= kMinApiKey && text.size() <= kMaxApiKey &&
         std::ranges::all_of(text, is_visible);
}

tl::expected<std::vector<std::string>, KeyFileError> parse_api_key_file(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> keys;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const bool is_good = line.starts_with(kHashMark) ? is_key_hash(line) : is_api_key(line);
    if (!is_good) {
      return tl::unexpected(KeyFileError{
          number,
          "expected an API key, 16 to 256 visible characters, or its hash; stdgate hash-key "
          "makes both"});
    }
    if (keys.size() == kMaxKeys) {
      return tl::unexpected(KeyFileError{number, "at most " + std::to_string(kMaxKeys) + " keys"});
    }
    keys.emplace_back(line);
  }
  if (keys.empty()) {
    return tl::unexpected(KeyFileError{0, "holds no API key; stdgate hash-key makes one"});
  }
  return keys;
}

}  // namespace stdgate::config
