#include "gateway/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <optional>

namespace stdgate {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<std::string> refuse(std::string_view text, const std::string& why) {
  return tl::unexpected("'" + std::string(text) + "' is not a listen address: " + why);
}

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest != end) return std::nullopt;
  return port;
}

// The usual spelling of a numeric address of this family; nothing for any other text.
std::optional<std::string> canonical_host(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> binary;
  std::array<char, INET6_ADDRSTRLEN> text;
  if (inet_pton(family, host.c_str(), binary.data()) != 1) return std::nullopt;
  if (inet_ntop(family, binary.data(), text.data(), text.size()) == nullptr) return std::nullopt;
  return text.data();
}

tl::expected<std::string, std::string> parse_host(std::string_view text, std::string host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    const auto v6 = canonical_host(AF_INET6, host.substr(1, host.size() - 2));
    if (!v6) return refuse(text, "no IPv6 address stands between the brackets");
    return *v6;
  }
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  if (const auto v4 = canonical_host(AF_INET, host)) return *v4;
  if (canonical_host(AF_INET6, host)) {
    return refuse(text, "an IPv6 address stands in brackets, as in [::1]:8080");
  }
  return refuse(text, "the host must be an IP address or localhost");
}

tl::expected<Address, std::string> parse_unix(std::string_view text) {
  Address address;
  address.kind = Address::Kind::unix_socket;
  address.path = text.substr(kUnixPrefix.size());
  if (address.path.empty()) {
    return refuse(text, "the path is missing, as in unix:/run/stdgate.sock");
  }
  if (address.path.size() > kMaxPathBytes) {
    return refuse(text, "a socket's path has at most " + std::to_string(kMaxPathBytes) + " bytes");
  }
  return address;
}

}  // namespace

tl::expected<Address, std::string> Address::parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return refuse(text, "it has a NUL byte");
  if (text.starts_with(kUnixPrefix)) return parse_unix(text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos && parse_port(text)) {
    return refuse(text, "write 127.0.0.1:" + std::string(text) + ", for clients on this machine");
  }
  if (colon == std::string_view::npos) {
    return refuse(text, "write host:port, [v6]:port or unix:/path");
  }
  const std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return refuse(text, "the port must be a number from 0 to 65535");
  const auto host = parse_host(text, std::string(text.substr(0, colon)));
  if (!host) return tl::unexpected(host.error());
  return Address{Kind::tcp, *host, *port, {}};
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
