#include "gateway/base/client_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace stdgate {

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

}  // namespace stdgate
