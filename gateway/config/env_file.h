// A file of environment variables, in what docker and dotenv have in common.
//
//   # a comment, and empty lines
//   NAME=value to the end of the line   # a comment: a space before it
//   export NAME='literally $this'
//   NAME="with \n \r \t \" \\ and # in it"
//
// One line a variable; nothing expands. A name has letters, digits, '_', '.' and '-', and begins
// with no digit. Of a name that occurs twice the last one counts. A byte order mark and carriage
// returns before line feeds are skipped.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::config {

struct EnvFileError {
  int line = 0;         // 1-based
  std::string message;  // without any value, as these are secrets
};

// Of a file with more errors only the first ones are reported.
inline constexpr size_t kMaxEnvFileErrors = 20;

tl::expected<std::map<std::string, std::string>, std::vector<EnvFileError>> parse_env_file(
    std::string_view text);

}  // namespace stdgate::config
