// Address: where a listener binds: TCP host and port, or a Unix socket's path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace stdgate {

struct Address {
  enum class Kind : uint8_t { tcp, unix_socket };
  Kind kind = Kind::tcp;
  std::string host;   // numeric IPv4 or IPv6 without brackets; "localhost" is 127.0.0.1
  uint16_t port = 0;  // 0: the kernel chooses
  std::string path;   // unix_socket

  // "127.0.0.1:8080", "[::]:8080", ":8080" (all IPv4 interfaces), "unix:/run/stdgate.sock".
  static tl::expected<Address, std::string> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  // Only programs of this machine can reach it: 127.0.0.0/8, ::1. Not Unix sockets: there is no
  // browser to protect there.
  [[nodiscard]] bool is_loopback() const;
};

}  // namespace stdgate
