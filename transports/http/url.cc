#include "transports/http/url.h"

#include <arpa/inet.h>

#include <array>

#include "transports/http/field_value.h"

namespace stdgate::http {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
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

void append_decoded(std::string& out, std::string_view text, bool plus_is_space) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
}

}  // namespace

bool is_percent_encoded(std::string_view text) {
  for (size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 3)) {
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) {
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
    const auto number = parse_digits(port);
    if (!port.empty() && (!number || *number > UINT16_MAX)) return false;
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
  // Anything but a port behind the bracket makes the whole no host.
  return authority.size() == host.size() || authority[host.size()] == ':' ? host : authority;
}

bool is_loopback_host(std::string_view host) {
  if (equals_ignoring_case(host, "localhost") || host == "[::1]") return true;
  return host.starts_with("127.") && is_address(AF_INET, host);
}

std::string_view percent_decode(std::string_view text, std::string& scratch) {
  if (text.find('%') == std::string_view::npos) return text;
  scratch.clear();
  append_decoded(scratch, text, false);
  return scratch;
}

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
  std::string decoded;
  while (!query.empty()) {
    const size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    query.remove_prefix(ampersand == std::string_view::npos ? query.size() : ampersand + 1);
    const size_t equals = pair.find('=');
    decoded.clear();
    append_decoded(decoded, pair.substr(0, equals), true);
    if (decoded != name) continue;
    decoded.clear();
    if (equals != std::string_view::npos) append_decoded(decoded, pair.substr(equals + 1), true);
    return decoded;
  }
  return std::nullopt;
}

}  // namespace stdgate::http
