#include "transports/net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <optional>

namespace stdgate {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kPathLimit = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<std::string> invalid(std::string_view text, std::string_view why) {
  return tl::unexpected("invalid address \"" + std::string(text) + "\": " + std::string(why));
}

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest != end) return std::nullopt;
  return port;
}

// The usual spelling of a numeric address; nothing when it is none.
std::optional<std::string> canonical_host(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> binary;
  std::array<char, INET6_ADDRSTRLEN> text;
  if (inet_pton(family, host.c_str(), binary.data()) != 1) return std::nullopt;
  if (inet_ntop(family, binary.data(), text.data(), text.size()) == nullptr) return std::nullopt;
  return text.data();
}

tl::expected<Address, std::string> parse_unix(std::string_view text) {
  Address address;
  address.kind = Address::Kind::unix_socket;
  address.path = text.substr(kUnixPrefix.size());
  if (address.path.empty()) return invalid(text, "the path is missing");
  if (address.path.size() > kPathLimit) {
    return invalid(text, "the path is longer than " + std::to_string(kPathLimit) + " bytes");
  }
  return address;
}

}  // namespace

tl::expected<Address, std::string> Address::parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return invalid(text, "it has a NUL byte");
  if (text.starts_with(kUnixPrefix)) return parse_unix(text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid(text, "expected host:port or unix:path");
  Address address;
  const std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return invalid(text, "the port must be a number from 0 to 65535");
  address.port = *port;

  std::string host(text.substr(0, colon));
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != std::string::npos) {
    return invalid(text, "an IPv6 address needs brackets, as in [::1]:8080");
  }
  const std::optional<std::string> canonical =
      bracketed ? canonical_host(AF_INET6, host.substr(1, host.size() - 2))
                : canonical_host(AF_INET, host);
  if (!canonical) return invalid(text, "the host must be a numeric address or localhost");
  address.host = *canonical;
  return address;
}

std::string Address::to_string() const {
  if (kind == Kind::unix_socket) return std::string(kUnixPrefix) + path;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::is_loopback() const {
  if (kind != Kind::tcp) return false;
  in_addr ipv4{};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return ntohl(ipv4.s_addr) >> 24 == 127;
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, host.c_str(), &ipv6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}

}  // namespace stdgate
