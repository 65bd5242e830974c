// Listen addresses: which are one, which are the same, which are none.
#include "gateway/config/listen_address.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

std::string normalize(const std::string& text) {
  const auto address = normalize_listen_address(text);
  return address ? *address : "error: " + address.error();
}

TEST(NormalizeListenAddress, Table) {
  const std::string longest = "unix:/" + std::string(106, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"127.0.0.1:8080", "127.0.0.1:8080"},
      {"localhost:8080", "127.0.0.1:8080"},
      {":8080", "0.0.0.0:8080"},
      {"0.0.0.0:0", "0.0.0.0:0"},
      {"127.0.0.1:065535", "127.0.0.1:65535"},
      {"[::]:8080", "[::]:8080"},
      {"[0:0:0:0:0:0:0:1]:80", "[::1]:80"},
      {"unix:/run/stdgate.sock", "unix:/run/stdgate.sock"},
      {longest, longest},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(normalize(text), expected);
}

TEST(NormalizeListenAddress, SaysWhatIsWrong) {
  const std::string too_long = "unix:/" + std::string(107, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"", "write host:port, [v6]:port or unix:/path"},
      {"8080", "write host:port, [v6]:port or unix:/path"},
      {"127.0.0.1:", "the port must be a number from 0 to 65535"},
      {"127.0.0.1:65536", "the port must be a number from 0 to 65535"},
      {"127.0.0.1:-1", "the port must be a number from 0 to 65535"},
      {"http://localhost:80", "the host must be an IP address or localhost"},
      {"::1:80", "an IPv6 address stands in brackets, as in [::1]:8080"},
      {"[127.0.0.1]:80", "no IPv6 address stands between the brackets"},
      {"[]:80", "no IPv6 address stands between the brackets"},
      {"256.0.0.1:80", "the host must be an IP address or localhost"},
      {"example.com:80", "the host must be an IP address or localhost"},
      {"unix:", "the path is missing, as in unix:/run/stdgate.sock"},
      {too_long, "a socket's path has at most 107 bytes"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_EQ(normalize(text), "error: '" + text + "' is not a listen address: " + why);
  }
}

TEST(HasAnyPort, IsPortZero) {
  EXPECT_TRUE(has_any_port("127.0.0.1:0"));
  EXPECT_FALSE(has_any_port("127.0.0.1:80"));
  EXPECT_FALSE(has_any_port("unix:/run/x:0"));
}

}  // namespace
}  // namespace stdgate
