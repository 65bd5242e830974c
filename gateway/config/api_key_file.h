// A file of API keys: one a line, as it is or as its hash (`stdgate hash-key`).
//
//   # a comment, and empty lines
//   sha256:9f86d081…64 digits…0a08
//
// A byte order mark, white space around a line and carriage returns are skipped.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/config/key_file.h"

namespace stdgate::config {

// "sha256:" and 64 hex digits.
bool is_key_hash(std::string_view text);
// Whether clients can show it: kMinApiKey to kMaxApiKey visible characters of ASCII.
bool is_api_key(std::string_view text);

// Keys and hashes, 1 to kMaxKeys; else the first error.
tl::expected<std::vector<std::string>, KeyFileError> parse_api_key_file(std::string_view text);

}  // namespace stdgate::config
