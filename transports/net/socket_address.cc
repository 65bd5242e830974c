#include "transports/net/socket_address.h"

#include <netinet/in.h>

#include <cstring>

namespace stdgate::net {

ClientAddress to_client_address(const sockaddr_storage& address) {
  ClientAddress out;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    out = ClientAddress::ipv4(
        std::span<const uint8_t, 4>(reinterpret_cast<const uint8_t*>(&in.sin_addr), 4));
    out.port = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in6{};
    std::memcpy(&in6, &address, sizeof(in6));
    out = ClientAddress::ipv6(std::span<const uint8_t, 16>(in6.sin6_addr.s6_addr, 16));
    out.port = ntohs(in6.sin6_port);
  }
  return out;
}

}  // namespace stdgate::net
