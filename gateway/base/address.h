// Address: where a listener binds: TCP address and port, or a Unix socket's path. The one place
// that knows the syntax; a plain value, whose binding is the transports' business.
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

  // "127.0.0.1:8080", "localhost:8080" (127.0.0.1), "[::]:8080", ":8080" (all IPv4 interfaces),
  // "unix:/run/stdgate.sock". The error says what to write.
  static tl::expected<Address, std::string> parse(std::string_view text);
  // Equal for equal addresses; parse() reads it back.
  [[nodiscard]] std::string to_string() const;
  // Only programs of this machine can reach it: 127.0.0.0/8, ::1. Not Unix sockets: there is no
  // browser to protect there.
  [[nodiscard]] bool is_loopback() const;
  // The kernel chooses the port, so two of the same do not collide.
  [[nodiscard]] bool has_any_port() const { return kind == Kind::tcp && port == 0; }
};

}  // namespace stdgate
