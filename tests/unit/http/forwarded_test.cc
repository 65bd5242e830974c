// The address of a client behind trusted proxies: RFC 7239, and the usual X-Forwarded-For.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transports/http/http1_head.h"
#include "transports/http/request_head.h"

namespace stdgate {
namespace {

using http::Provenance;

ClientAddress ip(const std::string& text, uint16_t port = 0) {
  ClientAddress address = ClientAddress::parse(text).value();
  address.port = port;
  return address;
}

// Proxies are 10.0.0.0/8 and 2001:db8:ffff::/48; the nearest one is 10.0.0.1.
const std::vector<ProxySource>& proxies() {
  static const std::vector<ProxySource> kProxies = {
      ProxySource::parse("10.0.0.0/8").value(), ProxySource::parse("2001:db8:ffff::/48").value()};
  return kProxies;
}
const ClientAddress& nearest() {
  static const ClientAddress kNearest = ip("10.0.0.1", 4711);
  return kNearest;
}

Provenance of(const std::string& fields, const ClientAddress& peer = nearest(),
              const std::vector<ProxySource>& trusted = proxies()) {
  const std::string block = "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  http::Http1Head head;
  EXPECT_TRUE(head.parse(block).has_value()) << fields;
  return http::provenance(head, peer, trusted);
}

std::string client_of(const std::string& fields) { return of(fields).client.to_string(); }

TEST(Forwarded, ExamplesOfTheSpecification) {
  const std::pair<const char*, const char*> cases[] = {
      // RFC 7239 section 4. "_gazonk" is no address, so the proxy's address is used.
      {"Forwarded: for=\"_gazonk\"\r\n", "10.0.0.1"},
      {"Forwarded: For=\"[2001:db8:cafe::17]:4711\"\r\n", "2001:db8:cafe::17"},
      {"Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43\r\n", "192.0.2.60"},
      {"Forwarded: for=192.0.2.43, for=198.51.100.17\r\n", "198.51.100.17"},
      // Sections 6.1 and 6.3.
      {"Forwarded: for=_hidden, for=_SEVKISEK\r\n", "10.0.0.1"},
      {"Forwarded: for=unknown\r\n", "10.0.0.1"},
      // Section 7.1.
      {"Forwarded: for=192.0.2.43,for=\"[2001:db8:cafe::17]\",for=unknown\r\n", "10.0.0.1"},
      {"Forwarded: for=192.0.2.43, for=\"[2001:db8:cafe::17]\"\r\n", "2001:db8:cafe::17"},
      {"Forwarded: for=192.0.2.43\r\nForwarded: for=\"[2001:db8:cafe::17]\"\r\n",
       "2001:db8:cafe::17"},
      // Section 7.4.
      {"Forwarded: for=192.0.2.43, for=198.51.100.17;by=203.0.113.60;proto=http;"
       "host=example.com\r\n",
       "198.51.100.17"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(client_of(fields), expected) << fields;
}

TEST(Forwarded, TheRightmostAddressThatIsNoProxyIsTheClient) {
  const std::pair<const char*, const char*> cases[] = {
      {"X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"},
      {"X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n", "192.0.2.2"},
      {"X-Forwarded-For: 192.0.2.1, 10.1.2.3\r\n", "192.0.2.1"},
      {"X-Forwarded-For: 192.0.2.9, 192.0.2.1, 10.1.2.3, 10.0.0.7\r\n", "192.0.2.1"},
      {"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 10.1.2.3\r\n", "192.0.2.1"},
      {"X-Forwarded-For: 192.0.2.1, 2001:db8:ffff::5\r\n", "192.0.2.1"},
      {"X-Forwarded-For: 10.5.5.5, 10.1.2.3\r\n", "10.5.5.5"},  // all are proxies: the first
      {"X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"},
      {"X-Forwarded-For: [2001:db8::1]\r\n", "2001:db8::1"},
      {"X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8::1"},
      {"X-Forwarded-For: 192.0.2.1:80\r\n", "192.0.2.1"},
      {"X-Forwarded-For: ::ffff:192.0.2.1\r\n", "192.0.2.1"},
      {"X-Forwarded-For: , 192.0.2.1 ,\r\n", "192.0.2.1"},
      {"Forwarded: for=192.0.2.9, for=192.0.2.1, for=10.1.2.3\r\n", "192.0.2.1"},
      {"", "10.0.0.1"},
      {"X-Forwarded-For:\r\n", "10.0.0.1"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(client_of(fields), expected) << fields;
}

// Entries that a client writes itself are on the left, and have no effect.
TEST(Forwarded, WhatIsLeftOfTheClientIsNotRead) {
  for (const char* forged : {"127.0.0.1", "garbage", "10.0.0.1", "\"", "[", "unknown", "a, b, c"}) {
    const std::string text = std::string("X-Forwarded-For: ") + forged + ", 192.0.2.1\r\n";
    EXPECT_EQ(client_of(text), "192.0.2.1") << text;
  }
  for (const char* forged : {"for=\"", "for=\"x", "for=\"\\", "\"", "for=\"a\", for=\"",
                             "for=\"a\\\"", "for=10.0.0.1"}) {
    const std::string begin = std::string("Forwarded: ") + forged;
    EXPECT_EQ(client_of(begin + ", for=192.0.2.1\r\n"), "192.0.2.1") << begin;
    EXPECT_EQ(client_of(begin + ", for=\"[2001:db8::1]:80\";by=\"_a\"\r\n"), "2001:db8::1")
        << begin;
  }
  EXPECT_EQ(client_of("Forwarded: for=192.0.2.1;by=\"a\\\",b\\\\\"\r\n"), "192.0.2.1");
  EXPECT_EQ(client_of("Forwarded: for=\"\r\nForwarded: for=192.0.2.1\r\n"), "192.0.2.1");
}

TEST(Forwarded, WhatIsMalformedIsNotBelieved) {
  const char* cases[] = {
      "X-Forwarded-For: garbage\r\n",
      "X-Forwarded-For: 192.0.2.1, garbage\r\n",
      "X-Forwarded-For: 192.0.2.1 192.0.2.2\r\n",
      "X-Forwarded-For: 192.0.2.256\r\n",
      "X-Forwarded-For: 192.0.2.1:99999\r\n",
      "X-Forwarded-For: 192.0.2.1:\r\n",
      "X-Forwarded-For: 192.0.2.1:x\r\n",
      "X-Forwarded-For: [2001:db8::1\r\n",
      "X-Forwarded-For: [2001:db8::1]x\r\n",
      "X-Forwarded-For: [192.0.2.1]\r\n",
      "X-Forwarded-For: unknown\r\n",
      "X-Forwarded-For: 192.0.2.1, garbage, 10.1.2.3\r\n",
      "Forwarded: 192.0.2.1\r\n",
      "Forwarded: for\r\n",
      "Forwarded: for=\r\n",
      "Forwarded: for=192.0.2.1;for=192.0.2.2\r\n",
      "Forwarded: for=2001:db8::1\r\n",
      "Forwarded: for=\"2001:db8::1\"\r\n",
      "Forwarded: for=\"192.0.2.1\r\n",
      "Forwarded: for=\"192.0.2.1\"x\r\n",
      "Forwarded: for =192.0.2.1\r\n",
      "Forwarded: for= 192.0.2.1\r\n",
      "Forwarded: for=192.0.2.1;proto=http;proto=https\r\n",
      "Forwarded: for=192.0.2.1, for=\"_a b\"\r\n",
  };
  for (const char* fields : cases) {
    EXPECT_EQ(of(fields), (Provenance{nearest(), {}})) << fields;
  }
}

TEST(Forwarded, ALongChainIsNotBelieved) {
  const auto chain = [](size_t hops) {
    std::string text = "X-Forwarded-For: 192.0.2.1";
    for (size_t i = 1; i < hops; ++i) text += ", 10.0.0.9";
    return client_of(text + "\r\n");
  };
  EXPECT_EQ(chain(http::kMaxHops), "192.0.2.1");
  EXPECT_EQ(chain(http::kMaxHops + 1), "10.0.0.1");
}

// If the headers differ, the client wrote one of them itself. Nobody can tell which.
TEST(Forwarded, BothHeadersHaveToAgree) {
  EXPECT_EQ(client_of("Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 192.0.2.1\r\n"), "192.0.2.1");
  EXPECT_EQ(client_of("Forwarded: for=\"192.0.2.1:80\"\r\nX-Forwarded-For: 192.0.2.1\r\n"),
            "192.0.2.1");
  EXPECT_EQ(client_of("Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n"), "10.0.0.1");
  EXPECT_EQ(client_of("Forwarded: for=x y\r\nX-Forwarded-For: 192.0.2.2\r\n"), "10.0.0.1");
  EXPECT_EQ(client_of("Forwarded: for=192.0.2.1\r\nX-Forwarded-Proto: https\r\n"), "10.0.0.1");
}

TEST(Forwarded, OnlyTrustedProxiesAreBelieved) {
  const std::string forged =
      "Forwarded: for=192.0.2.1;proto=https\r\nX-Forwarded-For: 192.0.2.1\r\n"
      "X-Forwarded-Proto: https\r\n";
  for (const ClientAddress& peer : {ip("192.0.2.77", 1), ip("11.0.0.1"), ip("::1"),
                                    ClientAddress::unix_user(1000), ClientAddress()}) {
    EXPECT_EQ(of(forged, peer), (Provenance{peer, {}}));
  }
  EXPECT_EQ(of(forged, nearest(), {}), (Provenance{nearest(), {}}));
}

TEST(Forwarded, UnixSocketsAreTrustedByName) {
  const std::vector<ProxySource> trusted = {ProxySource::parse("unix").value()};
  const ClientAddress peer = ClientAddress::unix_user(1000);
  EXPECT_EQ(of("X-Forwarded-For: 192.0.2.1\r\n", peer, trusted).client, ip("192.0.2.1"));
  EXPECT_EQ(of("X-Forwarded-For: 192.0.2.1\r\n", nearest(), trusted).client, nearest());
}

TEST(Forwarded, SaysWhetherTheClientSpeaksTls) {
  const std::pair<const char*, std::optional<bool>> cases[] = {
      {"Forwarded: for=192.0.2.1;proto=https\r\n", true},
      {"Forwarded: for=192.0.2.1;Proto=HTTP\r\n", false},
      {"Forwarded: for=192.0.2.1;proto=ftp\r\n", std::nullopt},
      {"Forwarded: for=192.0.2.1\r\n", std::nullopt},
      {"Forwarded: for=192.0.2.1;proto=https, for=10.1.1.1;proto=http\r\n", true},
      {"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", true},
      {"X-Forwarded-Proto: https\r\n", true},
      {"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\n", false},
      {"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https, http\r\n", std::nullopt},
      {"X-Forwarded-For: garbage\r\nX-Forwarded-Proto: https\r\n", std::nullopt},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(of(fields).is_secure, expected) << fields;
}

TEST(ProxySource, IsABlockOrUnixSockets) {
  for (const char* text : {"10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "unix"}) {
    const auto source = ProxySource::parse(text);
    ASSERT_TRUE(source.has_value()) << text;
    EXPECT_EQ(source->to_string(), text);
  }
  for (const char* text : {"", "unix:", "Unix", "10.0.0.1/8", "localhost", "*"}) {
    EXPECT_FALSE(ProxySource::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace stdgate
