#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "gateway/base/addresses.h"

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
}  // namespace stdgate
