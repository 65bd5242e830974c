#include "gateway/base/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "gateway/base/text.h"

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

namespace {

constexpr size_t kMappedBytes = 12;  // the bytes before an IPv4 address
constexpr std::array<uint8_t, kMappedBytes> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr size_t kNetworkBytes = 8;  // the /64 network of an IPv6 address
constexpr unsigned kAllBits = 128;

// Whether the first `count` bits of both are equal.
bool share_bits(const ClientAddress& a, const ClientAddress& b, unsigned count) {
  const size_t whole = count / 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  const unsigned rest = count % 8;
  return rest == 0 || (a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest) == 0;
}

bool has_bits_beyond(const ClientAddress& address, unsigned prefix) {
  for (unsigned bit = prefix; bit < kAllBits; ++bit) {
    if ((address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

ClientAddress ClientAddress::ipv4(std::span<const uint8_t, 4> address) {
  ClientAddress out;
  out.kind = Kind::ip;
  std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
  std::copy(address.begin(), address.end(), out.bytes.begin() + kMappedBytes);
  return out;
}

ClientAddress ClientAddress::ipv6(std::span<const uint8_t, kBytes> address) {
  ClientAddress out;
  out.kind = Kind::ip;
  std::copy(address.begin(), address.end(), out.bytes.begin());
  return out;
}

ClientAddress ClientAddress::unix_user(uint32_t user) {
  ClientAddress out;
  out.kind = Kind::unix_user;
  std::memcpy(out.bytes.data(), &user, sizeof(user));
  return out;
}

std::optional<ClientAddress> ClientAddress::parse(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return std::nullopt;
  text.copy(terminated.data(), text.size());
  std::array<uint8_t, kBytes> bytes{};
  if (inet_pton(AF_INET6, terminated.data(), bytes.data()) == 1) return ipv6(bytes);
  if (inet_pton(AF_INET, terminated.data(), bytes.data()) != 1) return std::nullopt;
  return ipv4(std::span(bytes).first<4>());
}

bool ClientAddress::is_ipv4() const {
  return kind == Kind::ip && std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

bool ClientAddress::is_loopback() const {
  if (is_ipv4()) return bytes[kMappedBytes] == 127;
  return without_port() == ipv6(std::to_array<uint8_t>({0, 0, 0, 0, 0, 0, 0, 0,  //
                                                        0, 0, 0, 0, 0, 0, 0, 1}));
}

bool ClientAddress::is_any() const {
  const size_t given = is_ipv4() ? kMappedBytes : 0;
  return kind == Kind::ip && std::all_of(bytes.begin() + static_cast<ptrdiff_t>(given), bytes.end(),
                                         [](uint8_t byte) { return byte == 0; });
}

ClientAddress ClientAddress::without_port() const {
  ClientAddress out = *this;
  out.port = 0;
  return out;
}

ClientAddress ClientAddress::key() const {
  ClientAddress out = without_port();
  if (kind == Kind::ip && !is_ipv4()) {
    std::fill(out.bytes.begin() + kNetworkBytes, out.bytes.end(), uint8_t{0});
  }
  return out;
}

std::string ClientAddress::to_string() const {
  if (kind == Kind::none) return {};
  if (kind == Kind::unix_user) {
    uint32_t user = 0;
    std::memcpy(&user, bytes.data(), sizeof(user));
    return "user " + std::to_string(user);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = is_ipv4();
  inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes.data() + (is_v4 ? kMappedBytes : 0), text.data(),
            text.size());
  return text.data();
}

std::string ClientAddress::with_port() const {
  if (kind != Kind::ip) return "unix";
  const std::string host = to_string();
  return (is_ipv4() ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::optional<AddressBlock> AddressBlock::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = ClientAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned hidden = address->is_ipv4() && text.find(':') == text.npos ? kMappedBytes * 8 : 0;
  unsigned prefix = kAllBits - hidden;
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, prefix);
    if (error != std::errc() || stop != end || prefix > kAllBits - hidden) return std::nullopt;
  }
  AddressBlock block;
  block.first_ = *address;
  block.prefix_ = static_cast<uint8_t>(prefix + hidden);
  if (has_bits_beyond(block.first_, block.prefix_)) return std::nullopt;
  return block;
}

bool AddressBlock::contains(const ClientAddress& address) const {
  return address.kind == ClientAddress::Kind::ip && share_bits(first_, address, prefix_);
}

std::string AddressBlock::to_string() const {
  std::string address = first_.to_string();
  if (prefix_ == kAllBits) return address;
  const unsigned hidden = first_.is_ipv4() ? kMappedBytes * 8 : 0;
  return address + "/" + std::to_string(prefix_ - hidden);
}

std::vector<AddressBlock> loopback_blocks() {
  return {*AddressBlock::parse("127.0.0.0/8"), *AddressBlock::parse("::1")};
}

std::optional<ProxySource> ProxySource::parse(std::string_view text) {
  ProxySource source;
  if (text == "unix") return source;
  source.block_ = AddressBlock::parse(text);
  if (!source.block_) return std::nullopt;
  return source;
}

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
