// Address: where a listener binds: a TCP address and port, or the path of a Unix socket. The one
// place that knows the syntax. A plain value; the transports bind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate {

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

}  // namespace stdgate
