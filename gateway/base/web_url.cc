#include "gateway/base/web_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "gateway/base/ascii.h"

namespace stdgate {

namespace {

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// RFC 3986 section 3.2.2: unreserved, sub-delims, and '%' of an escape.
bool is_registered_name(std::string_view text) {
  for (const char c : text) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!alphanumeric && std::string_view("-._~!$&'()*+,;=%").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return !text.empty() && is_percent_encoded(text);
}

bool is_address(int family, std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return false;
  text.copy(terminated.data(), text.size());
  std::array<unsigned char, 16> address{};
  return inet_pton(family, terminated.data(), address.data()) == 1;
}

bool is_port(std::string_view text) {
  uint16_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

// False for characters that RFC 3986 leaves out of URLs.
bool is_url_character(char c) {
  return c > ' ' && c < 0x7f && std::string_view("\"<>\\^`{|}#").find(c) == std::string_view::npos;
}

}  // namespace

bool is_percent_encoded(std::string_view text) {
  for (size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 3)) {
    if (i + 2 >= text.size() || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2])) {
      return false;
    }
  }
  return true;
}

bool is_authority(std::string_view text) {
  const std::string_view host = host_of(text);
  std::string_view port = text.substr(host.size());
  if (!port.empty()) {
    port.remove_prefix(1);  // host_of() stops at a colon
    if (!port.empty() && !is_port(port)) return false;
  }
  if (!host.starts_with('[')) return is_registered_name(host);
  return host.size() > 2 && host.back() == ']' &&
         is_address(AF_INET6, host.substr(1, host.size() - 2));
}

std::string_view host_of(std::string_view authority) {
  if (!authority.starts_with('[')) return authority.substr(0, authority.find(':'));
  const size_t bracket = authority.find(']');
  if (bracket == std::string_view::npos) return authority;
  const std::string_view host = authority.substr(0, bracket + 1);
  // If anything but a port follows the bracket, the whole authority counts as the host.
  return authority.size() == host.size() || authority[host.size()] == ':' ? host : authority;
}

bool is_loopback_host(std::string_view host) {
  if (equals_ignoring_case(host, "localhost") || host == "[::1]") return true;
  return host.starts_with("127.") && is_address(AF_INET, host);
}

std::optional<WebUrl> WebUrl::parse(std::string_view text) {
  if (!std::ranges::all_of(text, is_url_character) || !is_percent_encoded(text)) {
    return std::nullopt;
  }
  WebUrl url;
  url.is_secure = text.starts_with("https://");
  if (!url.is_secure && !text.starts_with("http://")) return std::nullopt;
  const size_t start = text.find("//") + 2;
  const size_t end = std::min(text.find_first_of("/?", start), text.size());
  url.authority = text.substr(start, end - start);
  if (!is_authority(url.authority)) return std::nullopt;
  url.origin = text.substr(0, end);
  const size_t query = std::min(text.find('?', end), text.size());
  url.path = text.substr(end, query - end);
  url.query = text.substr(query);
  return url;
}

}  // namespace stdgate
