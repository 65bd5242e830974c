#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

#include "transports/net/listener.h"

namespace stdgate {
namespace {

std::string text_of(int family, const char* host, uint16_t port) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, host, &in.sin_addr), 1);
    std::memcpy(&storage, &in, sizeof(in));
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
    std::memcpy(&storage, &in6, sizeof(in6));
  }
  return net::to_client_address(storage).with_port();
}

TEST(SocketAddress, IsWrittenAsAUrlHasIt) {
  EXPECT_EQ(text_of(AF_INET, "192.0.2.7", 1), "192.0.2.7:1");
  EXPECT_EQ(text_of(AF_INET, "127.0.0.1", 65535), "127.0.0.1:65535");
  EXPECT_EQ(text_of(AF_INET6, "::1", 80), "[::1]:80");
  EXPECT_EQ(text_of(AF_INET6, "2001:db8::2:1", 443), "[2001:db8::2:1]:443");
  EXPECT_EQ(text_of(AF_INET6, "::ffff:192.0.2.7", 443), "192.0.2.7:443");
}

TEST(SocketAddress, UnixSocketsHaveNone) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(net::to_client_address(storage).with_port(), "unix");
  EXPECT_EQ(ClientAddress().with_port(), "unix");
}

TEST(SocketAddress, IsThatOfTheClient) {
  sockaddr_storage storage{};
  EXPECT_EQ(net::to_client_address(storage), ClientAddress());
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  ipv4.sin_family = AF_INET;
  inet_pton(AF_INET, "10.0.0.5", &ipv4.sin_addr);
  EXPECT_EQ(net::to_client_address(storage), ClientAddress::parse("10.0.0.5"));
  storage = {};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "fd00::5", &ipv6.sin6_addr);
  EXPECT_EQ(net::to_client_address(storage), ClientAddress::parse("fd00::5"));
}

}  // namespace
}  // namespace stdgate
