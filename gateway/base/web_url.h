// URLs of the web, and the authorities in them (RFC 3986 section 3.2). Pure functions over views.
#pragma once

#include <optional>
#include <string_view>

namespace stdgate {

// Every '%' is followed by two hexadecimal digits.
bool is_percent_encoded(std::string_view text);

// host [":" port], without user information (RFC 3986 section 3.2).
bool is_authority(std::string_view text);

// The host of a valid authority, an IPv6 address with its brackets.
std::string_view host_of(std::string_view authority);

// localhost, 127.0.0.0/8 and [::1].
bool is_loopback_host(std::string_view host);

// https://authority/path?query, without user information and fragment. Views of the text.
struct WebUrl {
  bool is_secure = false;
  std::string_view origin;  // scheme and authority
  std::string_view authority;
  std::string_view path;   // may be empty
  std::string_view query;  // with its question mark; may be empty

  static std::optional<WebUrl> parse(std::string_view text);
  // Whether no one on the way can read or change the traffic: https, or http that stays on this
  // machine.
  [[nodiscard]] bool is_safe() const { return is_secure || is_loopback(); }
  [[nodiscard]] bool is_loopback() const { return is_loopback_host(host_of(authority)); }
};

}  // namespace stdgate
