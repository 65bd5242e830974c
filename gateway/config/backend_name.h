// Names of backends: the first part of a path, a metric label and a log value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate::config {

// The error says what is wrong.
tl::expected<void, std::string> check_backend_name(std::string_view name);

// First words of paths that the gateway serves itself.
std::span<const std::string_view> reserved_backend_names();

// The form of all others, as a regular expression of JSON Schema.
inline constexpr std::string_view kBackendNamePattern = "^[a-z0-9_-]{1,64}$";

// The names of backends in a file that may have mistakes: for shells that complete them.

// In their order; none if the text is no YAML.
std::vector<std::string> backend_names(const std::string& yaml);

}  // namespace stdgate::config
