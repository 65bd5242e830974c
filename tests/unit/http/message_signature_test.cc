// Signatures of requests, with the examples of RFC 9421 and RFC 9530.
#include "transports/http/message_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "transports/http/http1_head.h"

namespace stdgate::http {
namespace {

constexpr std::string_view kOrigin = "https://example.com";
// RFC 9421, appendix B.2.
const std::string kRequest =
    "POST /foo?param=Value&Pet=dog HTTP/1.1\r\nHost: example.com\r\n"
    "Date: Tue, 20 Apr 2021 02:07:55 GMT\r\nContent-Type: application/json\r\n"
    "Content-Digest: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyea"
    "ldVLvRwEmTHWXvJwew==:\r\nContent-Length: 18\r\n";
const std::string kBody = R"({"hello": "world"})";

std::string base_of(const std::string& input, const std::string& request = kRequest,
                    std::string_view origin = kOrigin) {
  Http1Head head;
  EXPECT_TRUE(head.parse(request + "\r\n"));
  const auto members = parse_dictionary(input);
  if (!members) return "malformed";
  const auto base = signature_base(members->front(), head, origin);
  return base ? *base : std::string(base.error().message);
}

TEST(MessageSignature, BasesOfTheRfc) {
  // RFC 9421, B.2.5.
  const std::string hmac =
      R"(("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret")";
  EXPECT_EQ(base_of("sig-b25=" + hmac),
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@authority\": example.com\n"
            "\"content-type\": application/json\n\"@signature-params\": " +
                hmac);
  // RFC 9421, B.2.6.
  const std::string ed25519 =
      R"(("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473)"
      R"(;keyid="test-key-ed25519")";
  EXPECT_EQ(base_of("sig-b26=" + ed25519),
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n"
            "\"@authority\": example.com\n\"content-type\": application/json\n"
            "\"content-length\": 18\n\"@signature-params\": " +
                ed25519);
}

TEST(MessageSignature, Components) {
  const auto line = [](const std::string& name, const std::string& request,
                       std::string_view origin) {
    const std::string base = base_of("a=(\"" + name + "\")", request, origin);
    return base.substr(0, base.find('\n'));
  };
  const std::string simple = "GET /a%20b?c=d&e HTTP/1.1\r\nHost: tools.example:8443\r\n";
  EXPECT_EQ(line("@target-uri", simple, "https://tools.example:8443"),
            "\"@target-uri\": https://tools.example:8443/a%20b?c=d&e");
  EXPECT_EQ(line("@target-uri", simple, "https://tools.example/gate"),
            "\"@target-uri\": https://tools.example/gate/a%20b?c=d&e");
  EXPECT_EQ(line("@path", simple, "https://tools.example/gate"), "\"@path\": /gate/a%20b");
  EXPECT_EQ(line("@query", simple, kOrigin), "\"@query\": ?c=d&e");
  EXPECT_EQ(line("@query", "GET / HTTP/1.1\r\nHost: a\r\n", kOrigin), "\"@query\": ?");
  EXPECT_EQ(line("@scheme", simple, "http://tools.example"), "\"@scheme\": http");
  EXPECT_EQ(line("@authority", simple, "https://Tools.Example:443"),
            "\"@authority\": tools.example");
  EXPECT_EQ(line("@authority", simple, "http://tools.example:443"),
            "\"@authority\": tools.example:443");
  EXPECT_EQ(line("x-a", "GET / HTTP/1.1\r\nHost: a\r\nX-A:  b  \r\nx-a: c, d\r\nX-A:\r\n", kOrigin),
            "\"x-a\": b, c, d, ");
  for (const std::string bad :
       {"a=(\"@query-param\";name=\"a\")", "a=(\"date\";sf)", "a=(\"date\";bs)", "a=(\"date\";req)",
        "a=(\"@status\")", "a=(\"@signature-params\")", "a=(\"@\")"}) {
    EXPECT_EQ(base_of(bad), "the signature covers what is not known here") << bad;
  }
  EXPECT_EQ(base_of("a=(\"x-absent\")"), "the signature covers a field that is not there");
  for (const std::string bad : {"a=(date)", "a=(\"date\" \"date\")", "a=(\"\")", "a=(1)"}) {
    EXPECT_EQ(base_of(bad), "the signature is malformed") << bad;
  }
}

struct Case {
  std::string fields;
  std::string error;  // empty: the signature is read
};

void expect(const std::string& start, const std::vector<Case>& cases) {
  for (const Case& wanted : cases) {
    Http1Head head;
    ASSERT_TRUE(head.parse(start + wanted.fields + "\r\n")) << wanted.fields;
    const auto read = read_signature(head, kOrigin);
    if (wanted.error.empty()) {
      ASSERT_TRUE(read) << wanted.fields << read.error().message;
      EXPECT_TRUE(read->has_value());
    } else {
      EXPECT_EQ(read ? "read" : read.error().message, wanted.error) << wanted.fields;
    }
  }
}

const std::string kParameters = R"(;created=1;nonce="n";keyid="k")";
const std::string kSignature = "Signature: a=:YQ==:\r\n";

std::string input(const std::string& components, const std::string& parameters = kParameters) {
  return "Signature-Input: a=(" + components + ")" + parameters + "\r\n";
}

TEST(MessageSignature, WhatHasToBeCovered) {
  const std::string gap = "the signature must cover ";
  const std::string no_target = gap + "@target-uri, or @path, and @query where there is one";
  expect("GET /a HTTP/1.1\r\nHost: example.com\r\n",
         {{input(R"("@method" "@target-uri")") + kSignature, ""},
          {input(R"("@method" "@path")") + kSignature, ""},
          {input(R"("@target-uri")") + kSignature, gap + "@method"},
          {input("") + kSignature, gap + "@method"},
          {input(R"("@method")") + kSignature, no_target},
          {input(R"("@method" "@query")") + kSignature, no_target}});
  expect("GET /a?b HTTP/1.1\r\nHost: example.com\r\n",
         {{input(R"("@method" "@path" "@query")") + kSignature, ""},
          {input(R"("@method" "@path")") + kSignature, no_target}});
  expect(kRequest, {{input(R"("@method" "@target-uri" "content-digest")") + kSignature, ""},
                    {input(R"("@method" "@target-uri")") + kSignature, gap + "content-digest"}});
}

TEST(MessageSignature, Parameters) {
  const std::string all = R"("@method" "@path")";
  const std::string missing = "the signature must have created, keyid and nonce";
  const std::string malformed = "the signature is malformed";
  const std::string too_many =
      "the signature has more than 64 members, components or parameters, or 256 in all";
  const auto more_parameters = [](size_t count) {
    std::string text = kParameters;
    for (size_t i = 0; i < count; ++i) text += ";x" + std::to_string(i);
    return text;
  };
  const std::string once = "send one signature: one Signature-Input, one Signature";
  const auto with = [&](const std::string& parameters) {
    return input(all, parameters) + kSignature;
  };
  expect("GET /a HTTP/1.1\r\nHost: example.com\r\n",
         {{with(R"(;nonce="n";keyid="k")"), missing},
          {with(R"(;created=1;keyid="k")"), missing},
          {with(R"(;created=1;nonce="n")"), missing},
          {with(R"(;created="1";nonce="n";keyid="k")"), missing},
          {with(R"(;created=1;nonce="";keyid="k")"), missing},
          {with(R"(;created=1;nonce=")" + std::string(256, 'n') + R"(";keyid="k")"), ""},
          {with(R"(;created=1;nonce=")" + std::string(257, 'n') + R"(";keyid="k")"), missing},
          {with(kParameters + ";alg=\"ed25519\";expires=2;tag=\"x\""), ""},
          {with(kParameters + ";alg=ed25519"), malformed},
          {with(kParameters + ";expires=\"2\""), malformed},
          {input(all), once},
          {kSignature, once},
          {input(all) + input(all) + kSignature, once},
          {input(all) + kSignature + kSignature, once},
          {input(all) + "Signature: a=:YQ==:, b=:YQ==:\r\n", once},
          {"Signature-Input: a=(), b=()\r\n" + kSignature, once},
          {input(all) + "Signature: b=:YQ==:\r\n", malformed},
          {input(all) + "Signature: a=YQ\r\n", malformed},
          {input(all) + "Signature: a=(:YQ==:)\r\n", malformed},
          {input(all) + "Signature: a=:YQ==:, a=:YQ==:\r\n", malformed},
          {"Signature-Input: a=1\r\n" + kSignature, malformed},
          {"Signature-Input: x y\r\n" + kSignature, malformed},
          {with(more_parameters(61)), ""},
          {with(more_parameters(62)), too_many},
          {input(all) + "Signature: a=:YQ==:" + more_parameters(65) + "\r\n", too_many}});
  Http1Head unsigned_head;
  ASSERT_TRUE(unsigned_head.parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(read_signature(unsigned_head, kOrigin)->has_value());
}

bool is_right(const std::string& fields, const std::string& body) {
  Http1Head head;
  EXPECT_TRUE(head.parse("POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"));
  return is_digest_right(head, body);
}

TEST(MessageSignature, Digests) {
  Http1Head head;
  ASSERT_TRUE(head.parse(kRequest + "\r\n"));
  EXPECT_TRUE(is_digest_right(head, kBody));
  EXPECT_FALSE(is_digest_right(head, kBody + " "));
  EXPECT_FALSE(is_digest_right(head, {}));
  // RFC 9530, appendix B.
  const std::string field = "Content-Digest: ";
  const std::string right = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:";
  const std::string empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
  EXPECT_TRUE(is_right(field + right + "\r\n", kBody));
  EXPECT_TRUE(is_right(field + empty + "\r\n", ""));
  EXPECT_FALSE(is_right(field + empty + "\r\n", kBody));
  EXPECT_TRUE(is_right("", ""));
  EXPECT_FALSE(is_right("", kBody));
  EXPECT_TRUE(is_right(field + "md5=:YQ==:, " + right + "\r\n", kBody));
  EXPECT_TRUE(is_right(field + "md5=:YQ==:\r\n" + field + right + "\r\n", kBody));
  EXPECT_FALSE(is_right(field + "md5=:YQ==:\r\n", kBody)) << "none that is known";
  EXPECT_FALSE(is_right(field + right + ", sha-512=:YQ==:\r\n", kBody)) << "all have to be right";
  EXPECT_FALSE(is_right(field + right + ", " + empty + "\r\n", kBody)) << "twice the same";
  EXPECT_FALSE(is_right(field + "sha-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE\r\n", kBody));
  EXPECT_FALSE(is_right(field + "sha-256=()\r\n", kBody));
  EXPECT_FALSE(is_right(field + "nonsense, \r\n", kBody));
}

}  // namespace
}  // namespace stdgate::http
