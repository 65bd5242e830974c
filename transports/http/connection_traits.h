// ConnectionTraits: what admission knows about a connection before its first byte.
//
// A small value, copied.
#pragma once

#include <cstdint>
#include <optional>

#include "gateway/base/client_address.h"

namespace stdgate::http {

struct ConnectionTraits {
  enum class Reach : uint8_t {
    loopback,     // TCP, to an address that only programs of this machine can reach
    network,      // TCP, to any other address
    unix_socket,  // no browser connects here, a proxy in front may
  };

  uint32_t listener = 0;  // its number within the server, which no other one has had
  Reach reach = Reach::loopback;
  bool is_secure = false;  // over TLS
  bool anonymous = true;   // its clients need not say who they are
  // Address that the client connected to, without the port; not the listener's own, which may be
  // bound to all of them.
  ClientAddress local{};

  // Those of a connection behind a proxy, which may say whether its client speaks TLS.
  [[nodiscard]] ConnectionTraits as_spoken(std::optional<bool> secure) const {
    ConnectionTraits traits = *this;
    traits.is_secure = secure.value_or(is_secure);
    return traits;
  }
};

}  // namespace stdgate::http
