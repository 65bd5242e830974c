// Listeners with TLS: the forms of `listen`, `admin` and `tls`, and the rules between their keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using config::ClientCertificate;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBackend = "backends: { a: { command: [x] } }\n";

std::optional<std::string> no_environment(const std::string& /*name*/) { return std::nullopt; }

config::Config parse_tls(const std::string& yaml,
                         const std::vector<config::Setting>& settings = {}) {
  const auto config = config::parse_config(yaml + kBackend, no_environment, settings);
  if (config) return *config;
  for (const config::ConfigError& error : config.error()) ADD_FAILURE() << error.to_string("f");
  return {};
}

std::string tls_errors(const std::string& yaml) {
  const auto config = config::parse_config(yaml + kBackend, no_environment);
  std::string lines;
  if (!config) {
    for (const config::ConfigError& error : config.error()) lines += error.to_string("f") + "\n";
  }
  return lines;
}

TEST(ConfigTls, FormsOfListeners) {
  const config::Config config = parse_tls(R"(
listen:
  - 127.0.0.1:1
  - { address: "127.0.0.1:2", tls: { certificate: a.crt, key: a.key } }
  - { address: "127.0.0.1:3" }
  - unix:/run/s
admin: { address: "127.0.0.1:4", tls: { certificate: [b.crt, c.crt], key: [b.key, c.key] } }
)");
  ASSERT_EQ(config.listen.size(), 4u);
  EXPECT_EQ(config.tls_of(config.listen[0]), nullptr);
  ASSERT_NE(config.tls_of(config.listen[1]), nullptr);
  EXPECT_THAT(config.tls_of(config.listen[1])->certificate, ElementsAre("a.crt"));
  EXPECT_EQ(config.listen[2], config::ListenerConfig{"127.0.0.1:3"});
  EXPECT_EQ(config.admin.address, "127.0.0.1:4");
  EXPECT_THAT(config.admin.tls.key, ElementsAre("b.key", "c.key"));
}

TEST(ConfigTls, AtTheTopItIsThatOfTheOthers) {
  const config::Config config = parse_tls(R"(
listen:
  - 127.0.0.1:1
  - { address: "127.0.0.1:2", tls: { certificate: own.crt, key: own.key } }
  - unix:/run/s
tls: { certificate: a.crt, key: a.key }
)");
  EXPECT_THAT(config.tls_of(config.listen[0])->certificate, ElementsAre("a.crt"));
  EXPECT_THAT(config.tls_of(config.listen[1])->certificate, ElementsAre("own.crt"));
  EXPECT_EQ(config.tls_of(config.listen[2]), nullptr);
  EXPECT_FALSE(config.admin.tls.is_used());
}

TEST(ConfigTls, Flags) {
  const config::Config config =
      parse_tls("", {{{"tls", "certificate"}, std::vector<std::string>{"a.crt", "b.crt"}},
                     {{"tls", "key"}, std::vector<std::string>{"a.key", "b.key"}},
                     {{"tls", "client_ca"}, std::string("ca.crt")}});
  EXPECT_THAT(config.tls.certificate, ElementsAre("a.crt", "b.crt"));
  EXPECT_THAT(config.tls.key, ElementsAre("a.key", "b.key"));
  EXPECT_EQ(config.tls.client_certificate, ClientCertificate::require);
}

TEST(ConfigTls, CertificatesOfClients) {
  const auto of = [](const std::string& more) {
    return parse_tls("tls: { certificate: a, key: b" + more + " }\n").tls.client_certificate;
  };
  EXPECT_EQ(of(""), ClientCertificate::none);
  EXPECT_EQ(of(", client_ca: c"), ClientCertificate::require);
  EXPECT_EQ(of(", client_ca: c, client_certificate: optional"), ClientCertificate::optional);
  EXPECT_EQ(of(", client_ca: c, client_certificate: none"), ClientCertificate::none);
}

TEST(ConfigTls, Errors) {
  const auto check = [](const std::string& yaml, const std::string& message) {
    EXPECT_THAT(tls_errors(yaml), HasSubstr(message)) << yaml;
  };
  check("tls: { certificate: a }\n", "tls.key: missing; name the file of the certificate's");
  check("tls: { key: a }\n", "tls.certificate: missing; name the file of the certificate");
  check("tls: { certificate: [a, b], key: a }\n",
        "tls.key: expected one key for each certificate: 2, found 1");
  check("tls: { certificate: [], key: a }\n", "tls.certificate: expected 1 to 64 files");
  check("tls: { certificate: \"\", key: a }\n", "tls.certificate: expected the name of a file");
  check("tls: { certificate: a, key: a, client_certificate: require }\n",
        "tls.client_certificate: needs client_ca");
  check("tls: { certificate: a, key: a, client_certificate: always }\n",
        "expected one of none, optional, require; found 'always'");
  check("tls: { certificate: a, key: a, crl: c }\n", "tls.crl: needs client_ca");
  check("tls: { certificate: a, key: a, client-ca: c }\n", "did you mean 'client_ca'?");
  check("listen: [{ tls: { certificate: a, key: b } }]\n",
        "listen[0].address: missing; name the address to listen on");
  check("listen: [{ address: nowhere }]\n", "listen[0].address: 'nowhere' is not a listen address");
  check("listen: [{ address: \":1\", tsl: {} }]\n",
        "listen[0].tsl: unknown key; did you mean 'tls'");
  check("listen: [{ address: \":1\", tls: {} }]\n", "listen[0].tls.certificate: missing");
  check("listen: [\":1\", { address: \":1\" }]\n", "':1' is already in listen");
  check("admin: { address: \"off\" }\n", "'off' is not a listen address");
}

TEST(ConfigTls, ManyCertificates) {
  const auto list = [](size_t count) {
    std::string items = "x";
    for (size_t i = 1; i < count; ++i) items += ", x";
    return "[" + items + "]";
  };
  EXPECT_EQ(tls_errors("tls: { certificate: " + list(64) + ", key: " + list(64) + " }\n"), "");
  EXPECT_THAT(tls_errors("tls: { certificate: " + list(65) + ", key: " + list(65) + " }\n"),
              HasSubstr("expected 1 to 64 files"));
}

}  // namespace
}  // namespace stdgate
