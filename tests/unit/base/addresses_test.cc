#include "gateway/base/addresses.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace stdgate {

namespace {

TEST(Address, Parses) {
  struct Case {
    const char* text;
    const char* canonical;
    bool loopback;
  };
  const std::string longest = "unix:/" + std::string(106, 'p');
  const Case cases[] = {
      {"127.0.0.1:8080", "127.0.0.1:8080", true},
      {"127.9.9.9:1", "127.9.9.9:1", true},
      {"128.0.0.1:1", "128.0.0.1:1", false},
      {"localhost:80", "127.0.0.1:80", true},
      {":8080", "0.0.0.0:8080", false},
      {"0.0.0.0:0", "0.0.0.0:0", false},
      {"10.1.2.3:65535", "10.1.2.3:65535", false},
      {"[::]:8080", "[::]:8080", false},
      {"[::1]:8080", "[::1]:8080", true},
      {"[0:0:0:0:0:0:0:1]:8080", "[::1]:8080", true},
      {"[::ffff:127.0.0.1]:8080", "[::ffff:127.0.0.1]:8080", true},
      {"[::ffff:10.0.0.1]:8080", "[::ffff:10.0.0.1]:8080", false},
      {"[FE80::1]:1", "[fe80::1]:1", false},
      {"unix:/run/stdgate.sock", "unix:/run/stdgate.sock", false},
      {"unix:relative.sock", "unix:relative.sock", false},
      {longest.c_str(), longest.c_str(), false},
  };
  for (const Case& c : cases) {
    const auto address = Address::parse(c.text);
    ASSERT_TRUE(address) << c.text << ": " << address.error();
    EXPECT_EQ(address->to_string(), c.canonical);
    EXPECT_EQ(address->is_loopback(), c.loopback) << c.text;
  }
}

TEST(Address, SaysWhatIsWrong) {
  const std::string form = "write host:port, [v6]:port or unix:/path";
  const std::string port = "the port must be a number from 0 to 65535";
  const std::string host = "the host must be an IP address or localhost";
  const std::string brackets = "no IPv6 address stands between the brackets";
  const std::string no_brackets = "an IPv6 address stands in brackets, as in [::1]:8080";
  const std::string too_long = "unix:/" + std::string(107, 'p');
  const std::pair<std::string, std::string> cases[] = {
      {"", form},
      {"8080", "write 127.0.0.1:8080, for clients on this machine"},
      {"65536", form},
      {"127.0.0.1", form},
      {"127.0.0.1:", port},
      {"127.0.0.1:65536", port},
      {"127.0.0.1:-1", port},
      {"127.0.0.1:80x", port},
      {"127.0.0.1: 80", port},
      {"127.0.0.1.5:80", host},
      {"127.1:80", host},
      {"256.0.0.1:80", host},
      {"example.com:80", host},
      {"http://localhost:80", host},
      {"::1:8080", no_brackets},
      {"[::1]", port},
      {"[::1]:", port},
      {"[::1:80", host},
      {"[]:80", brackets},
      {"[127.0.0.1]:80", brackets},
      {"[::g]:80", brackets},
      {"unix:", "the path is missing, as in unix:/run/stdgate.sock"},
      {too_long, "a socket's path has at most 107 bytes"},
      {std::string("unix:/a\0b", 9), "it has a NUL byte"},
      {std::string("127.0.0.1\0:80", 13), "it has a NUL byte"},
  };
  for (const auto& [text, why] : cases) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error(), "'" + text + "' is not a listen address: " + why);
  }
}

TEST(Address, AnyPortIsPortZero) {
  EXPECT_TRUE(Address::parse("127.0.0.1:0")->has_any_port());
  EXPECT_FALSE(Address::parse("127.0.0.1:80")->has_any_port());
  EXPECT_FALSE(Address::parse("unix:/run/x:0")->has_any_port());
}

}  // namespace

namespace {

ClientAddress address(const char* text) {
  std::array<uint8_t, 16> bytes{};
  if (inet_pton(AF_INET6, text, bytes.data()) == 1) return ClientAddress::ipv6(bytes);
  EXPECT_EQ(inet_pton(AF_INET, text, bytes.data()), 1) << text;
  return ClientAddress::ipv4(std::span(bytes).first<4>());
}

TEST(ClientAddress, Text) {
  for (const char* text : {"192.0.2.1", "0.0.0.0", "2001:db8::1", "::1", "::"}) {
    EXPECT_EQ(address(text).to_string(), text);
  }
  EXPECT_EQ(address("::ffff:192.0.2.1").to_string(), "192.0.2.1");
  EXPECT_EQ(ClientAddress::unix_user(1000).to_string(), "user 1000");
  EXPECT_EQ(ClientAddress().to_string(), "");
}

TEST(ClientAddress, Key) {
  EXPECT_EQ(address("192.0.2.1").key(), address("::ffff:192.0.2.1").key());
  EXPECT_NE(address("192.0.2.1").key(), address("192.0.2.2").key());
  EXPECT_EQ(address("2001:db8:1:2:3:4:5:6").key(), address("2001:db8:1:2::1").key());
  EXPECT_NE(address("2001:db8:1:2::1").key(), address("2001:db8:1:3::1").key());
  EXPECT_NE(ClientAddress::unix_user(1).key(), ClientAddress::unix_user(2).key());
}

TEST(AddressBlock, Contains) {
  const struct {
    const char* block;
    const char* address;
    bool inside;
  } cases[] = {
      {"10.0.0.0/8", "10.255.0.1", true},
      {"10.0.0.0/8", "11.0.0.0", false},
      {"10.0.0.0/8", "::ffff:10.1.1.1", true},
      {"192.0.2.128/25", "192.0.2.128", true},
      {"192.0.2.128/25", "192.0.2.127", false},
      {"192.0.2.1", "192.0.2.1", true},
      {"192.0.2.1", "192.0.2.2", false},
      {"0.0.0.0/0", "203.0.113.9", true},
      {"0.0.0.0/0", "2001:db8::1", false},
      {"::/0", "2001:db8::1", true},
      {"2001:db8::/33", "2001:db8:7fff::", true},
      {"2001:db8::/33", "2001:db8:8000::", false},
      {"::1", "::1", true},
      {"::1", "::2", false},
  };
  for (const auto& expected : cases) {
    const auto block = AddressBlock::parse(expected.block);
    ASSERT_TRUE(block) << expected.block;
    EXPECT_EQ(block->contains(address(expected.address)), expected.inside)
        << expected.block << " " << expected.address;
    EXPECT_EQ(block->to_string(), expected.block);
    EXPECT_FALSE(block->contains(ClientAddress::unix_user(0)));
  }
}

TEST(AddressBlock, WhatIsNone) {
  for (const char* text : {"", "a", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "10.0.0/8", "::/129",
                           "::1/64", "10.0.0.0/-1", "10.0.0.0/8 ", "[::1]", "/8", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(AddressBlock::parse(text)) << text;
  }
}

TEST(ClientAddress, TextsOfIpAddresses) {
  struct Case {
    std::string text;
    bool valid;
    bool loopback;
    bool any;
  };
  const Case cases[] = {
      {"127.0.0.1", true, true, false},
      {"127.255.0.9", true, true, false},
      {"128.0.0.1", true, false, false},
      {"10.0.0.5", true, false, false},
      {"0.0.0.0", true, false, true},
      {"::", true, false, true},
      {"::1", true, true, false},
      {"::2", true, false, false},
      {"::ffff:127.0.0.1", true, true, false},
      {"::ffff:0.0.0.0", true, false, true},
      {"fe80::1", true, false, false},
      {"", false, false, false},
      {"localhost", false, false, false},
      {"10.0.5", false, false, false},
      {"10.0.0.05", false, false, false},
      {"[::1]", false, false, false},
      {"fe80::1%lo", false, false, false},
      {std::string(100, '1'), false, false, false},
  };
  for (const Case& c : cases) {
    const auto address = ClientAddress::parse(c.text);
    ASSERT_EQ(address.has_value(), c.valid) << c.text;
    if (!address) continue;
    EXPECT_EQ(address->is_loopback(), c.loopback) << c.text;
    EXPECT_EQ(address->is_any(), c.any) << c.text;
  }
  EXPECT_EQ(ClientAddress::parse("10.0.0.5"), ClientAddress::parse("::ffff:10.0.0.5"));
  EXPECT_EQ(ClientAddress::parse("fd00::5"), ClientAddress::parse("FD00:0::0:5"));
  EXPECT_NE(ClientAddress::parse("10.0.0.5"), ClientAddress::parse("10.0.0.6"));
}

TEST(ClientAddress, ThePortCountsForEqualityOnly) {
  ClientAddress with = *ClientAddress::parse("10.0.0.5");
  with.port = 80;
  EXPECT_NE(with, *ClientAddress::parse("10.0.0.5"));
  EXPECT_EQ(with.without_port(), *ClientAddress::parse("10.0.0.5"));
  EXPECT_EQ(with.key(), ClientAddress::parse("10.0.0.5")->key());
  with = *ClientAddress::parse("127.0.0.1");
  with.port = 80;
  EXPECT_TRUE(with.is_loopback());
  with = *ClientAddress::parse("::1");
  with.port = 80;
  EXPECT_TRUE(with.is_loopback());
}

}  // namespace

}  // namespace stdgate
