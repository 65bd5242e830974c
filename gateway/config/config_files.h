// Files that a configuration names: files of any content, read whole, and files of keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::config {

// Reads a whole file that the configuration names. The error says in words what is wrong with the
// file, its name included: absent, a directory, not readable, larger than `limit` bytes. A
// FileReader (config_parser.h).
tl::expected<std::string, std::string> read_text_file(const std::string& file, size_t limit);

// Whether the mode of the file lets every user of this machine read it.
bool is_readable_by_all(const std::string& file);

// --- Files of keys for sealing: 32 bytes a line, as hex (`openssl rand -hex 32`) or base64
// (`openssl rand -base64 32`, padded or not, in either alphabet)
//
//   # a comment, and empty lines
//   5f2b…64 digits…9c   # a comment behind a key
//
// The order counts. A byte order mark, and carriage returns before line feeds, are skipped.

using SecretKey = std::array<uint8_t, 32>;

inline constexpr size_t kMaxKeys = 16;

// A mistake in a file of keys, and its place.
struct KeyFileError {
  int line = 0;         // 1-based; 0: of the file as a whole
  std::string message;  // without any part of a key
  // "FILE:LINE: message"
  [[nodiscard]] std::string to_string(const std::string& file) const {
    return file + (line == 0 ? ": " : ":" + std::to_string(line) + ": ") + message;
  }
};

// The keys, 1 to kMaxKeys; else the first error.
tl::expected<std::vector<SecretKey>, KeyFileError> parse_key_file(std::string_view text);

// --- Files of API keys: one a line, as it is or as its hash (`stdgate hash-key`)
//
//   # a comment, and empty lines
//   sha256:9f86d081…64 digits…0a08
//
// A byte order mark, white space around a line and carriage returns are skipped.

// Whether the text is "sha256:" and 64 hex digits.
bool is_key_hash(std::string_view text);
// Whether clients can show it: kMinApiKey to kMaxApiKey visible characters of ASCII.
bool is_api_key(std::string_view text);

// Keys and hashes, 1 to kMaxKeys; else the first error.
tl::expected<std::vector<std::string>, KeyFileError> parse_api_key_file(std::string_view text);

}  // namespace stdgate::config
