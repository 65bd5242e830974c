// The pieces of a request target (RFC 3986): percent-encoding, authority, query parameters.
// Pure functions over views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stdgate::http {

// Every '%' is followed by two hexadecimal digits.
bool is_percent_encoded(std::string_view text);

// host [":" port], without user information (RFC 3986 section 3.2).
bool is_authority(std::string_view text);

// The host of a valid authority, an IPv6 address with its brackets.
std::string_view host_of(std::string_view authority);

// localhost, 127.0.0.0/8 and [::1].
bool is_loopback_host(std::string_view host);

// What `text`, which must be valid, stands for: `text` itself, or a view of `scratch`.
std::string_view percent_decode(std::string_view text, std::string& scratch);

// The value of the first parameter `name` of a query, decoded as application/x-www-form-urlencoded
// ('+' is a space). Nothing when it is absent.
std::optional<std::string> query_parameter(std::string_view query, std::string_view name);

}  // namespace stdgate::http
