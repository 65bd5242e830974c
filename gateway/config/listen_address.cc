// The syntax of listen addresses.
#include "gateway/config/listen_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <array>
#include <optional>

#include "gateway/config/value_parser.h"

namespace stdgate {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr uint64_t kMaxPort = 65535;
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<std::string> refuse(std::string_view text, const std::string& why) {
  return tl::unexpected("'" + std::string(text) + "' is not a listen address: " + why);
}

tl::expected<std::string, std::string> normalize_socket_path(std::string_view text) {
  const std::string_view path = text.substr(kUnixPrefix.size());
  if (path.empty()) return refuse(text, "the path is missing, as in unix:/run/stdgate.sock");
  if (path.size() > kMaxSocketPath) {
    return refuse(text, "a socket's path has at most " + std::to_string(kMaxSocketPath) + " bytes");
  }
  return std::string(text);
}

// `host` without brackets, in its shortest form; nothing when it is no address of that family.
std::optional<std::string> normalize_host(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> binary;
  std::array<char, INET6_ADDRSTRLEN> printed;
  if (inet_pton(family, host.c_str(), binary.data()) != 1) return std::nullopt;
  return inet_ntop(family, binary.data(), printed.data(), printed.size());
}

}  // namespace

tl::expected<std::string, std::string> normalize_listen_address(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return normalize_socket_path(text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return refuse(text, "write host:port, [v6]:port or unix:/path");
  }
  const auto port = parse_count(text.substr(colon + 1));
  if (!port || *port > kMaxPort) return refuse(text, "the port must be a number from 0 to 65535");

  std::string host(text.substr(0, colon));
  const std::string suffix = ":" + std::to_string(*port);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    const auto v6 = normalize_host(AF_INET6, host.substr(1, host.size() - 2));
    if (v6) return "[" + *v6 + "]" + suffix;
    return refuse(text, "no IPv6 address stands between the brackets");
  }
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  if (const auto v4 = normalize_host(AF_INET, host)) return *v4 + suffix;
  if (normalize_host(AF_INET6, host)) {
    return refuse(text, "an IPv6 address stands in brackets, as in [::1]:8080");
  }
  return refuse(text, "the host must be an IP address or localhost");
}

bool has_any_port(std::string_view normalized) {
  return !normalized.starts_with(kUnixPrefix) && normalized.ends_with(":0");
}

}  // namespace stdgate
