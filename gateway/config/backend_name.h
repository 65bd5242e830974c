// What a backend may be called: its name is a path's first part, a metric label and a log value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate::config {

// The error says what is wrong.
tl::expected<void, std::string> check_backend_name(std::string_view name);

// First words of paths that the gateway serves itself.
std::span<const std::string_view> reserved_backend_names();

// The form of all others, as a regular expression of JSON Schema.
inline constexpr std::string_view kBackendNamePattern = "^[a-z0-9_-]{1,64}$";

}  // namespace stdgate::config
