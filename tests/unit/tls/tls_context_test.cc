// TlsContext and TlsLayer: usable and unusable files, and changes of the files on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "tests/support/recording_log.h"
#include "tests/unit/tls/tls_world.h"
#include "transports/net/loop.h"
#include "transports/tls/tls_layer.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct TlsFiles : testing::Test {
  TlsFiles() { use(authority.issue()); }
  void use(const Credential& credential) {
    config.certificate = {folder.write("server.crt", credential.certificate)};
    config.key = {folder.write("server.key", credential.key)};
  }
  std::string error_of() const {
    const auto loaded = tls::TlsContext::load(config);
    return loaded ? "none" : loaded.error().key + ": " + loaded.error().message;
  }

  TestFolder folder;
  TestAuthority authority;
  config::TlsConfig config;
};

TEST_F(TlsFiles, ThatCanBeUsed) {
  EXPECT_EQ(error_of(), "none");
  const auto context = *tls::TlsContext::load(config);
  ASSERT_EQ(context->certificates().size(), 1u);
  EXPECT_EQ(context->certificates()[0].file, config.certificate[0]);
  const int64_t now = std::time(nullptr);
  EXPECT_NEAR(static_cast<double>(context->certificates()[0].not_after),
              static_cast<double>(now + 86400), 60);
  EXPECT_THAT(context->warnings(now), IsEmpty());
  EXPECT_THAT(context->warnings(now + 90000), ElementsAre(HasSubstr("server.crt expired at 20")));
  EXPECT_THAT(context->warnings(now - 90000), ElementsAre(HasSubstr("is not valid before 20")));
}

TEST_F(TlsFiles, ThatCannotBeUsed) {
  const config::TlsConfig good = config;
  config.certificate = {folder.path("absent.crt")};
  EXPECT_EQ(error_of(), "certificate: cannot read " + folder.path("absent.crt") +
                            ": No such file or directory");
  config.certificate = {folder.write("text", "no certificate\n")};
  EXPECT_THAT(error_of(),
              HasSubstr("certificate: " + folder.path("text") + " holds no certificate in PEM"));
  config.certificate = {
      folder.write("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")};
  EXPECT_THAT(error_of(), HasSubstr("broken holds a broken certificate: "));
  config = good;
  config.key = {folder.write("other.key", authority.issue().key)};
  EXPECT_THAT(error_of(), HasSubstr("key: " + folder.path("other.key") +
                                    " is not the key of the certificate in "));
  config.key = good.certificate;
  EXPECT_THAT(error_of(), HasSubstr("holds no private key in PEM"));
  config.key = {folder.path("absent.key")};
  EXPECT_THAT(error_of(), HasSubstr("key: cannot read "));
  config.key = {folder.write("big.key", std::string(tls::TlsContext::kMaxFile + 1, 'x'))};
  EXPECT_THAT(error_of(), HasSubstr("larger than 1MiB"));
}

TEST_F(TlsFiles, AnEncryptedKeyIsNotAskedFor) {
  config.key = {folder.write("locked.key",
                             "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                             "MIH0MF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBDFUZsOuXzEKYAHXoJE\n"
                             "-----END ENCRYPTED PRIVATE KEY-----\n")};
  EXPECT_THAT(error_of(), HasSubstr("key: "));
}

TEST_F(TlsFiles, OfClients) {
  config.client_certificate = config::ClientCertificate::require;
  config.client_ca = folder.path("absent.crt");
  EXPECT_THAT(error_of(), HasSubstr("client_ca: cannot read "));
  config.client_ca = folder.write("ca.crt", authority.certificate());
  EXPECT_EQ(error_of(), "none");
  config.crl = config.client_ca;
  EXPECT_THAT(error_of(), HasSubstr("crl: " + config.crl + " holds no revocation list in PEM"));
  config.crl = folder.write("old.crl", authority.revocations({}, -60));
  EXPECT_EQ(error_of(), "none");
  const auto context = *tls::TlsContext::load(config);
  EXPECT_THAT(context->warnings(std::time(nullptr)),
              ElementsAre(HasSubstr("old.crl had to be replaced by 20")));
}

// --- TlsLayer ------------------------------------------------------------------------------------

struct CountingObserver final : Observer {
  void on_handshake_failed(HandshakeFailure failure) override { failures.push_back(failure); }
  std::vector<HandshakeFailure> failures;
};

struct TlsFilesInUse : TlsFiles {
  const Duration handshake_timeout = std::chrono::seconds(10);

  void open() {
    auto opened = tls::TlsLayer::open(
        {loop, log, observer, wall_clock, handshakes, handshake_timeout}, "1.2.3.4:443", config);
    ASSERT_TRUE(opened) << opened.error().message;
    layer = *std::move(opened);
  }
  // The name in the certificate that a new client receives.
  std::string name() {
    MemoryPeer peer;
    PlainOwner owner;
    TlsClient client({.authority = "", .server_name = "localhost"});
    auto stream = layer->wrap(std::make_unique<MemoryStream>(peer), ClientAddress());
    stream->set_events(owner);
    stream->resume_read(net::Stream::kNotStarted);
    for (int i = 0; i < 4; ++i) {
      peer.send(client.take_sealed());
      client.receive(std::exchange(peer.received, {}));
    }
    stream->close();
    return client.peer_name();
  }
  bool wait_for(std::string_view event) {
    return run_until(loop, [&] { return log.find(event) != nullptr; });
  }

  net::Loop loop;
  RecordingLog log;
  CountingObserver observer;
  net::SystemWallClock wall_clock{loop};
  tls::Handshakes handshakes{16};
  std::unique_ptr<tls::TlsLayer> layer;
};

TEST_F(TlsFilesInUse, AreTakenOver) {
  open();
  EXPECT_EQ(name(), "localhost");
  const Credential next = authority.issue({.name = "next"});
  folder.write("server.crt", next.certificate);  // first one file, then the other
  folder.write("server.key", next.key);
  EXPECT_TRUE(wait_for("TLS files reloaded"));
  EXPECT_EQ(name(), "next");
  EXPECT_FALSE(log.has_trouble());
}

TEST_F(TlsFilesInUse, ThatCannotBeUsedChangeNothing) {
  open();
  const Credential next = authority.issue({.name = "next"});
  folder.write("server.crt", next.certificate);  // without its key
  EXPECT_TRUE(wait_for("TLS files cannot be reloaded"));
  EXPECT_EQ(name(), "localhost");
  const size_t lines = log.lines.size();
  EXPECT_THAT(log.lines.back(), HasSubstr("is not the key of the certificate in "));
  run_for(loop, 3 * tls::TlsLayer::kWatch);
  EXPECT_EQ(log.lines.size(), lines);  // reported once
  folder.write("server.key", next.key);
  EXPECT_TRUE(wait_for("TLS files reloaded"));
  EXPECT_EQ(name(), "next");
}

TEST_F(TlsFilesInUse, WarnWhenTheyAreOutOfDate) {
  use(authority.issue({.ends_seconds = -60}));
  open();
  ASSERT_NE(log.find("TLS files are not valid now"), nullptr);
  EXPECT_THAT(log.lines[0], HasSubstr("server.crt expired at "));
}

TEST_F(TlsFilesInUse, FailuresAreCountedAndSoManyAreLogged) {
  open();
  for (uint32_t i = 0; i < 3 * tls::TlsLayer::kFailureLines; ++i) {
    MemoryPeer peer;
    PlainOwner owner;
    auto stream = layer->wrap(std::make_unique<MemoryStream>(peer), ClientAddress());
    stream->set_events(owner);
    stream->resume_read(net::Stream::kNotStarted);
    peer.send("GET / HTTP/1.1\r\n");
    stream->close();
  }
  EXPECT_EQ(observer.failures.size(), 3 * tls::TlsLayer::kFailureLines);
  EXPECT_EQ(observer.failures[0], HandshakeFailure::plain_http);
  EXPECT_EQ(log.lines.size(), tls::TlsLayer::kFailureLines);
  EXPECT_THAT(log.lines[0], HasSubstr("reason=plain_http"));
  EXPECT_THAT(log.lines[0], HasSubstr("listener=1.2.3.4:443"));
}

}  // namespace
}  // namespace stdgate::test
