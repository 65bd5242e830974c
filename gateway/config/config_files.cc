#include "gateway/config/config_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"
#include "gateway/config/config_ranges.h"
#include "gateway/config/value_parser.h"

namespace stdgate::config {

namespace {

tl::unexpected<std::string> cannot_read(const std::string& file, int error) {
  return tl::unexpected("cannot read " + file + ": " + std::generic_category().message(error));
}

}  // namespace

tl::expected<std::string, std::string> read_text_file(const std::string& file, size_t limit) {
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    return tl::unexpected(file + " is a directory; a file is needed");
  }
  // A FIFO would be waited for.
  if (std::filesystem::is_fifo(file, unknown) || std::filesystem::is_socket(file, unknown)) {
    return tl::unexpected(file + " is no regular file");
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return cannot_read(file, errno);
  std::string text(limit + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return cannot_read(file, errno == 0 ? EIO : errno);
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > limit) {
    return tl::unexpected(file + " is larger than " + print_size(limit) +
                          ", the limit for such a file");
  }
  return text;
}

bool is_readable_by_all(const std::string& file) {
  std::error_code unknown;
  const auto permissions = std::filesystem::status(file, unknown).permissions();
  return !unknown &&
         (permissions & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

namespace {

constexpr const char* kExpected =
    "expected a key of 32 bytes, as 64 hex digits or 44 characters of base64; openssl rand -hex 32 "
    "makes one";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = lower_ascii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::string> decode_hex(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at + 1 < text.size(); at += 2) {
    const int high = hex_digit(text[at]);
    const int low = hex_digit(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::optional<SecretKey> read_key(std::string_view text) {
  SecretKey key{};
  std::optional<std::string> bytes;
  if (text.size() == 2 * key.size()) {
    bytes = decode_hex(text);
  } else {
    if (text.ends_with('=')) text.remove_suffix(1);
    bytes = decode_base64(text, Base64Alphabet::standard);
    if (!bytes) bytes = decode_base64(text, Base64Alphabet::url);
  }
  if (!bytes || bytes->size() != key.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return key;
}

}  // namespace

tl::expected<std::vector<SecretKey>, KeyFileError> parse_key_file(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<SecretKey> keys;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto key = read_key(line);
    if (!key) return tl::unexpected(KeyFileError{number, kExpected});
    if (std::find(keys.begin(), keys.end(), *key) != keys.end()) {
      return tl::unexpected(
          KeyFileError{number, "this key is in a line above already; remove one of the two"});
    }
    if (keys.size() == kMaxKeys) {
      return tl::unexpected(
          KeyFileError{number, "at most " + std::to_string(kMaxKeys) +
                                   " keys; remove the last ones, which are the oldest"});
    }
    keys.push_back(*key);
  }
  if (keys.empty())
    return tl::unexpected(KeyFileError{0, std::string("holds no key; ") + kExpected});
  return keys;
}

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
