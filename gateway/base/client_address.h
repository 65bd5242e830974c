// ClientAddress: the address of a client, or the local address of its connection: an IP address,
// with its port where that matters, or the user at the other end of a Unix socket. AddressBlock: a
// block of IP addresses (CIDR, RFC 4632).
//
// Plain values; transports/net converts them from and to the forms of sockets. IPv4 addresses are
// held as IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2), so a client has the same address
// on a dual-stack listener.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate {

struct ClientAddress {
  enum class Kind : uint8_t { none, ip, unix_user };
  static constexpr size_t kBytes = 16;

  Kind kind = Kind::none;
  std::array<uint8_t, kBytes> bytes{};  // in network order; unix_user: begins with the user's id

  uint16_t port = 0;  // 0: none, or not known

  // `address`: in network order.
  static ClientAddress ipv4(std::span<const uint8_t, 4> address);
  static ClientAddress ipv6(std::span<const uint8_t, kBytes> address);
  static ClientAddress unix_user(uint32_t user);
  // Parses "10.0.0.5", "fd00::1"; without brackets, zone and port. Nothing for any other text.
  static std::optional<ClientAddress> parse(std::string_view text);

  [[nodiscard]] bool is_none() const { return kind == Kind::none; }
  [[nodiscard]] bool is_ipv4() const;
  // 127.0.0.0/8 and ::1.
  [[nodiscard]] bool is_loopback() const;
  // 0.0.0.0 and ::, where a listener accepts connections to any address.
  [[nodiscard]] bool is_any() const;
  [[nodiscard]] ClientAddress without_port() const;
  // The key for limits: the address without its port; for IPv6 its /64 network, which usually
  // belongs to one client.
  [[nodiscard]] ClientAddress key() const;
  // "192.0.2.1", "2001:db8::1", "user 1000"; empty for none.
  [[nodiscard]] std::string to_string() const;
  // "127.0.0.1:51234", "[::1]:51234"; "unix" if it is no IP address.
  [[nodiscard]] std::string with_port() const;

  friend bool operator==(const ClientAddress&, const ClientAddress&) = default;
};

struct ClientAddressHash {
  size_t operator()(const ClientAddress& address) const {
    const std::string_view bytes(reinterpret_cast<const char*>(address.bytes.data()),
                                 address.bytes.size());
    return std::hash<std::string_view>()(bytes) + static_cast<size_t>(address.kind);
  }
};

class AddressBlock {
 public:
  // Parses "10.0.0.0/8", "2001:db8::/32", or one address. Nothing for any other text, or if bits
  // beyond the prefix are set.
  static std::optional<AddressBlock> parse(std::string_view text);
  [[nodiscard]] bool contains(const ClientAddress& address) const;
  // parse() reads it.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const AddressBlock&, const AddressBlock&) = default;

 private:
  ClientAddress first_;
  uint8_t prefix_ = 0;  // bits of the mapped form, 0 to 128
};

// 127.0.0.0/8 and ::1.
std::vector<AddressBlock> loopback_blocks();

// ProxySource: where a trusted proxy connects from: a block of IP addresses, or any Unix socket.
//
// A plain value.
class ProxySource {
 public:
  // "10.0.0.0/8", "2001:db8::1", "unix".
  static std::optional<ProxySource> parse(std::string_view text);
  [[nodiscard]] bool contains(const ClientAddress& peer) const {
    return block_ ? block_->contains(peer) : peer.kind == ClientAddress::Kind::unix_user;
  }
  // parse() reads it.
  [[nodiscard]] std::string to_string() const { return block_ ? block_->to_string() : "unix"; }

  friend bool operator==(const ProxySource&, const ProxySource&) = default;

 private:
  std::optional<AddressBlock> block_;  // nothing: Unix sockets
};

}  // namespace stdgate
