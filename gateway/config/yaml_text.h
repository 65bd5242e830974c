// The text of a YAML file before and beside its parser: what it must not be, and plain words for
// what the parser says of it.
//
// Lines and columns of arguments and results count from 1, columns in bytes. No YAML library here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/config/config_parser.h"

namespace stdgate::config {

// Mistakes in the bytes: not UTF-8, UTF-16, a control character. A byte order mark is fine.
std::optional<ConfigError> check_yaml_bytes(std::string_view yaml);

// `message` is what the parser says about this place.
ConfigError explain_yaml_error(std::string_view yaml, int line, int column,
                               const std::string& message);

// Whether the quoted text that begins at byte `at`, behind a byte order mark, has its closing
// quote. True if there is no quote.
bool is_quote_closed(std::string_view yaml, size_t at);

}  // namespace stdgate::config
