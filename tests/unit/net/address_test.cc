#include "transports/net/address.h"

#include <gtest/gtest.h>

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

TEST(Address, Rejects) {
  const std::string too_long = "unix:/" + std::string(107, 'p');
  const char* const cases[] = {"",
                               "8080",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:65536",
                               "127.0.0.1:-1",
                               "127.0.0.1:80x",
                               "127.0.0.1: 80",
                               "127.0.0.1.5:80",
                               "127.1:80",
                               "example.com:80",
                               "::1:8080",
                               "[::1]",
                               "[::1]:",
                               "[::1:80",
                               "[]:80",
                               "[127.0.0.1]:80",
                               "[::g]:80",
                               "unix:",
                               too_long.c_str()};
  for (const char* text : cases) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().find(text), std::string::npos) << address.error();
  }
  using std::string_view_literals::operator""sv;
  EXPECT_FALSE(Address::parse("unix:/a\0b"sv));
  EXPECT_FALSE(Address::parse("127.0.0.1\0:80"sv));
}

}  // namespace
}  // namespace stdgate
