// Addresses: where a listener binds, of clients and their networks, and URLs of the web.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace stdgate {

// Address: where a listener binds: a TCP address and port, or the path of a Unix socket. The one
// place that knows the syntax. A plain value; the transports bind it.
struct Address {
  enum class Kind : uint8_t { tcp, unix_socket };
  Kind kind = Kind::tcp;
  std::string host;   // numeric IPv4 or IPv6, shortest form, without brackets
  uint16_t port = 0;  // 0: the kernel chooses
  std::string path;   // unix_socket

  friend bool operator==(const Address&, const Address&) = default;

  // Parses "127.0.0.1:8080", "localhost:8080" (127.0.0.1), "[::]:8080", ":8080" (all IPv4
  // interfaces), "unix:/run/stdgate.sock". An error says what to write.
  static tl::expected<Address, std::string> parse(std::string_view text);
  // Equal for equal addresses; parse() reads it.
  [[nodiscard]] std::string to_string() const;
  // Whether only programs of this machine can reach it: 127.0.0.0/8, ::1. False for Unix sockets,
  // where there is no browser to protect against.
  [[nodiscard]] bool is_loopback() const;
  // Whether the kernel chooses the port, so that two equal addresses do not collide.
  [[nodiscard]] bool has_any_port() const { return kind == Kind::tcp && port == 0; }
};

// ClientAddress: the address of a client, or the local address of its connection: an IP address,
// with its port where that matters, or the user at the other end of a Unix socket.
//
// A plain value; transports/net converts it from and to the forms of sockets. IPv4 addresses are
// held as IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2), so a client has the same address
// on a dual-stack listener.
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

// Hash for tables by address.
struct ClientAddressHash {
  size_t operator()(const ClientAddress& address) const {
    const std::string_view bytes(reinterpret_cast<const char*>(address.bytes.data()),
                                 address.bytes.size());
    return std::hash<std::string_view>()(bytes) + static_cast<size_t>(address.kind);
  }
};

// AddressBlock: a block of IP addresses (CIDR, RFC 4632). A plain value.
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

// ProxySource: where a trusted proxy connects from: a block of IP addresses, or any Unix socket. A
// plain value.
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

// --- URLs of the web, and the authorities in them (RFC 3986 section 3.2)
//
// Pure functions over views.

// Whether every '%' is followed by two hexadecimal digits.
bool is_percent_encoded(std::string_view text);

// Whether the text is host [":" port], without user information (RFC 3986 section 3.2).
bool is_authority(std::string_view text);

// The host of a valid authority, an IPv6 address with its brackets.
std::string_view host_of(std::string_view authority);

// Whether the host is localhost, in 127.0.0.0/8, or [::1].
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
