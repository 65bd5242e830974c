// The pieces of a request target (RFC 3986): percent-encoding, query parameters.
// Pure functions over views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stdgate::http {

// What `text`, which must be valid, stands for: `text` itself, or a view of `scratch`.
std::string_view percent_decode(std::string_view text, std::string& scratch);

// The value of the first parameter `name` of a query, decoded as application/x-www-form-urlencoded
// ('+' is a space). Nothing when it is absent.
std::optional<std::string> query_parameter(std::string_view query, std::string_view name);

}  // namespace stdgate::http
