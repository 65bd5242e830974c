// The handshakes of TlsStreams: refusals and their answers, the number of handshakes under way,
// their time limit, certificates by name, client certificates, sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cerrno>

#include "tests/unit/tls/tls_world.h"

namespace stdgate::test {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TlsHandshake, FailuresHaveReasons) {
  TlsWorld world;
  const auto failure_of = [&](const TlsClientOptions& options) {
    world.events.failures.clear();
    TlsConnection connection(world, options);
    connection.carry();
    connection.client.write({});
    connection.carry();
    EXPECT_EQ(world.handshakes.under_way(), 0u);
    EXPECT_EQ(world.events.failures.size(), 1u);
    return world.events.failures.empty() ? "" : world.events.failures[0];
  };
  TlsClientOptions old;
  old.max_version = TLS1_1_VERSION;
  EXPECT_EQ(failure_of(old), "version");
  TlsClientOptions h2 = world.client_options();
  h2.protocols = "\x02h2";
  EXPECT_EQ(failure_of(h2), "no_shared_protocol");
  TlsClientOptions stranger;
  stranger.authority = TestAuthority("Another").certificate();
  EXPECT_EQ(failure_of(stranger), "refused_by_client");
  TlsClientOptions elsewhere = world.client_options();
  elsewhere.server_name = "elsewhere.example";
  EXPECT_EQ(failure_of(elsewhere), "refused_by_client");
}

TEST(TlsHandshake, AnExpiredCertificateIsRefusedByClients) {
  TlsWorld world;
  world.use(world.authority.issue({.ends_seconds = -60}));
  TlsConnection connection(world);
  connection.carry();
  EXPECT_THAT(world.events.failures, ElementsAre("refused_by_client"));
  EXPECT_FALSE(connection.client.is_open());
}

TEST(TlsHandshake, ProtocolIsHttp) {
  TlsWorld world;
  TlsClientOptions options = world.client_options();
  options.protocols = "\x02h2\x08http/1.1";
  TlsConnection connection(world, options);
  connection.carry();
  EXPECT_EQ(connection.client.protocol(), "http/1.1");
}

TEST(TlsHandshake, PlainHttpIsAnswered) {
  TlsWorld world;
  for (const size_t piece : {size_t{1}, size_t{100}}) {
    TlsConnection connection(world);
    const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (size_t at = 0; at < request.size(); at += piece) {
      connection.peer.send(request.substr(at, piece));
    }
    connection.turn();
    EXPECT_THAT(connection.peer.received, testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_THAT(connection.peer.received, testing::EndsWith("https:// or wss://\n"));
    const size_t body = connection.peer.received.find("\r\n\r\n") + 4;
    EXPECT_THAT(connection.peer.received,
                HasSubstr("Content-Length: " +
                          std::to_string(connection.peer.received.size() - body) + "\r\n"));
    EXPECT_TRUE(connection.peer.ended);
    EXPECT_EQ(connection.owner.errors, 0);  // the client has not read it yet
    connection.peer.end();
    EXPECT_EQ(connection.owner.errors, 1);
    EXPECT_EQ(connection.owner.bytes, "");
  }
  EXPECT_THAT(world.events.failures, ElementsAre("plain_http", "plain_http"));
}

TEST(TlsHandshake, GarbageIsToldByAnAlert) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.peer.send("\x16\x03\x01\x00\x05garbage that is no hello"sv);
  connection.turn();
  EXPECT_THAT(world.events.failures, ElementsAre("malformed"));
  ASSERT_GE(connection.peer.received.size(), 7u);
  EXPECT_EQ(connection.peer.received[0], 21);  // an alert record
  EXPECT_TRUE(connection.peer.ended);
}

TEST(TlsHandshake, ALingeringClientIsNotReadForEver) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.peer.send("POST ");
  connection.peer.send(std::string(tls::TlsStream::kLingerBytes, 'x'));
  EXPECT_EQ(connection.owner.errors, 0);
  connection.peer.send("x");
  EXPECT_EQ(connection.owner.error, -EPROTO);
  TlsConnection other(world);
  other.peer.send("POST ");
  EXPECT_TRUE(run_until(world.loop, [&] { return other.owner.errors == 1; }));
}

TEST(TlsHandshake, EndsInTime) {
  TlsWorld world;
  world.handshake_timeout = std::chrono::milliseconds(20);
  TlsConnection silent(world);
  TlsConnection slow(world);
  slow.peer.send(slow.client.take_sealed().substr(0, 10));
  EXPECT_TRUE(
      run_until(world.loop, [&] { return silent.owner.errors == 1 && slow.owner.errors == 1; }));
  EXPECT_EQ(silent.owner.error, -ETIMEDOUT);
  EXPECT_THAT(world.events.failures, ElementsAre("timeout", "timeout"));
  EXPECT_EQ(world.handshakes.under_way(), 0u);
}

TEST(TlsHandshake, AnOpenConnectionHasNoSuchTime) {
  TlsWorld world;
  world.handshake_timeout = std::chrono::milliseconds(200);
  TlsConnection connection(world);
  connection.carry();
  ASSERT_TRUE(connection.client.is_open());
  run_for(world.loop, std::chrono::milliseconds(250));
  EXPECT_EQ(connection.owner.errors, 0);
}

TEST(TlsHandshake, ClientsThatLeave) {
  TlsWorld world;
  TlsConnection silent(world);
  silent.peer.end();
  EXPECT_EQ(silent.owner.errors, 1);
  EXPECT_TRUE(world.events.failures.empty());  // a probe, and no failure
  TlsConnection begun(world);
  const std::string hello = begun.client.take_sealed();
  begun.peer.send(hello.substr(0, hello.size() - 1));
  EXPECT_EQ(world.handshakes.under_way(), 0u) << "it costs no more than its bytes";
  begun.peer.send(hello.substr(hello.size() - 1));
  EXPECT_EQ(world.handshakes.under_way(), 1u);
  begun.peer.end();
  EXPECT_EQ(begun.owner.errors, 1);
  EXPECT_THAT(world.events.failures, ElementsAre("left"));
  EXPECT_EQ(world.handshakes.under_way(), 0u);
}

TEST(TlsHandshake, SoManyAreUnderWayAndTheNextWaits) {
  TlsWorld world(2);
  TlsConnection idle(world);  // has sent nothing, so it takes no place
  TlsConnection one(world);
  TlsConnection two(world);
  one.peer.send(one.client.take_sealed());
  two.peer.send(two.client.take_sealed());
  EXPECT_EQ(world.handshakes.under_way(), 2u);
  TlsConnection three(world);
  TlsConnection four(world);
  three.carry();
  four.carry();
  EXPECT_FALSE(three.client.is_open());
  EXPECT_EQ(world.handshakes.waiting(), 2u);
  EXPECT_FALSE(three.peer.stream->is_read());
  one.give_client();
  one.carry();
  EXPECT_TRUE(one.client.is_open());
  three.carry();
  EXPECT_TRUE(three.client.is_open());
  three.ask("x");
  EXPECT_EQ(three.owner.bytes, "x");
  four.carry();
  EXPECT_TRUE(four.client.is_open());
  EXPECT_EQ(world.handshakes.under_way(), 1u);
  EXPECT_EQ(world.handshakes.waiting(), 0u);
}

TEST(TlsHandshake, WhoWaitsMayLeaveOrBeLate) {
  TlsWorld world(1);
  TlsConnection one(world);
  one.peer.send(one.client.take_sealed());
  {
    TlsConnection gone(world);
    gone.carry();
    EXPECT_EQ(world.handshakes.waiting(), 1u);
  }
  EXPECT_EQ(world.handshakes.waiting(), 0u);
  world.handshake_timeout = std::chrono::milliseconds(10);
  TlsConnection late(world);
  late.carry();
  EXPECT_TRUE(run_until(world.loop, [&] { return late.owner.errors == 1; }));
  EXPECT_EQ(world.events.failures.back(), "timeout");
  EXPECT_EQ(world.events.details.back(), "limits.handshakes were under way");
  EXPECT_EQ(world.handshakes.waiting(), 0u);
  EXPECT_EQ(world.handshakes.under_way(), 1u);
  one.stream->close();
  EXPECT_EQ(world.handshakes.under_way(), 0u);
}

TEST(Handshakes, OneClientHasAQuarterOfThem) {
  struct Waiter final : tls::Handshakes::Waiter {
    void on_handshake_turn() override { has_turn = true; }
    bool has_turn = false;
  };
  const ClientAddress greedy = *ClientAddress::parse("192.0.2.1");
  const ClientAddress honest = *ClientAddress::parse("192.0.2.2");
  tls::Handshakes handshakes(8);
  Waiter ignored;
  EXPECT_TRUE(handshakes.begin(ignored, greedy));
  EXPECT_TRUE(handshakes.begin(ignored, greedy));
  Waiter third;
  EXPECT_FALSE(handshakes.begin(third, greedy));
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(handshakes.begin(ignored, i < 2 ? honest : ClientAddress())) << i;
  }
  Waiter last;
  EXPECT_FALSE(handshakes.begin(last, ClientAddress()));
  handshakes.end(honest);
  EXPECT_FALSE(third.has_turn) << "its client has its share still";
  EXPECT_TRUE(last.has_turn);
  handshakes.end(greedy);
  EXPECT_TRUE(third.has_turn);
  EXPECT_EQ(handshakes.waiting(), 0u);
  EXPECT_EQ(handshakes.under_way(), 8u);
  tls::Handshakes behind_a_proxy(8, {*AddressBlock::parse("192.0.2.1")});
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(behind_a_proxy.begin(ignored, greedy)) << i;
  behind_a_proxy.set_limits(16, {});
  Waiter limited;
  EXPECT_FALSE(behind_a_proxy.begin(limited, greedy)) << "it has its share already";
  for (int i = 0; i < 5; ++i) behind_a_proxy.end(greedy);
  EXPECT_TRUE(limited.has_turn);
}

TEST(TlsHandshake, SessionsAreResumed) {
  TlsWorld world;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClientOptions options = world.client_options();
    options.max_version = version;
    TlsConnection first(world, options);
    first.ask("x");
    EXPECT_FALSE(first.client.was_resumed());
    first.client.shutdown_write();
    options.session = first.client.session();
    TlsConnection second(world, options);
    second.ask("y");
    EXPECT_TRUE(second.client.was_resumed()) << version;
    EXPECT_EQ(second.owner.bytes, "y");
    world.load();  // a new context accepts no former tickets
    TlsConnection third(world, options);
    third.ask("z");
    EXPECT_FALSE(third.client.was_resumed()) << version;
    EXPECT_EQ(third.owner.bytes, "z");
  }
}

TEST(TlsHandshake, CertificatesByName) {
  TlsWorld world;
  const Credential other =
      world.authority.issue({.name = "other", .hosts = {"other.example", "*.wild.example"}});
  world.config.certificate.push_back(world.folder.write("other.crt", other.certificate));
  world.config.key.push_back(world.folder.write("other.key", other.key));
  world.load();
  const auto name_for = [&](const std::string& host) {
    TlsClientOptions options;
    options.server_name = host;
    TlsConnection connection(world, options);
    connection.carry();
    EXPECT_TRUE(connection.client.is_open()) << connection.client.error();
    return connection.client.peer_name();
  };
  EXPECT_EQ(name_for("localhost"), "localhost");
  EXPECT_EQ(name_for("other.example"), "other");
  EXPECT_EQ(name_for("OTHER.EXAMPLE"), "other");
  EXPECT_EQ(name_for("a.wild.example"), "other");
  EXPECT_EQ(name_for("a.b.wild.example"), "localhost");
  EXPECT_EQ(name_for("nobody.example"), "localhost");
  EXPECT_EQ(name_for(""), "localhost");
}

// --- Certificates of clients ---------------------------------------------------------------------

struct ClientCertificates : testing::Test {
  void require(config::ClientCertificate which, const std::string& crl = "") {
    world.config.client_ca = world.folder.write("ca.crt", clients.certificate());
    world.config.client_certificate = which;
    if (!crl.empty()) world.config.crl = world.folder.write("ca.crl", crl);
    world.load();
  }
  // "open", or the reason of the failure.
  std::string connect(const Credential& credential) {
    std::string all;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      world.events.failures.clear();
      world.events.details.clear();
      TlsClientOptions options = world.client_options();
      options.credential = credential;
      options.max_version = version;
      TlsConnection connection(world, options);
      connection.carry();
      const std::string now = world.events.failures.empty()
                                  ? (connection.client.is_open() ? "open" : "neither")
                                  : world.events.failures[0] + ": " + world.events.details[0];
      if (!all.empty()) {
        EXPECT_EQ(now, all);
      }
      all = now;
    }
    return all;
  }

  TlsWorld world;
  TestAuthority clients{"Clients"};
};

TEST_F(ClientCertificates, AreRequired) {
  require(config::ClientCertificate::require);
  EXPECT_EQ(connect(clients.issue()), "open");
  EXPECT_THAT(connect({}), HasSubstr("no_client_certificate"));
  TestAuthority stranger("Clients");
  EXPECT_THAT(connect(stranger.issue()), HasSubstr("bad_client_certificate: "));
  EXPECT_EQ(connect(clients.issue({.ends_seconds = -60})),
            "bad_client_certificate: certificate has expired");
  EXPECT_EQ(connect(clients.issue({.begins_seconds = 3600})),
            "bad_client_certificate: certificate is not yet valid");
}

TEST_F(ClientCertificates, AreOptional) {
  require(config::ClientCertificate::optional);
  EXPECT_EQ(connect(clients.issue()), "open");
  EXPECT_EQ(connect({}), "open");
  TestAuthority stranger("Stranger");
  EXPECT_THAT(connect(stranger.issue()), HasSubstr("bad_client_certificate: "));
}

TEST_F(ClientCertificates, AreRevoked) {
  const Credential good = clients.issue();
  const Credential bad = clients.issue();
  require(config::ClientCertificate::require, clients.revocations({bad.serial}));
  EXPECT_EQ(connect(good), "open");
  EXPECT_EQ(connect(bad), "bad_client_certificate: certificate revoked");
}

TEST_F(ClientCertificates, AChainIsRevoked) {
  TestAuthority middle("Middle", clients);
  TestAuthority revoked("Revoked Middle", clients);
  require(config::ClientCertificate::require,
          clients.revocations({revoked.serial()}) + middle.revocations() + revoked.revocations());
  EXPECT_EQ(connect(middle.issue()), "open");
  EXPECT_EQ(connect(revoked.issue()), "bad_client_certificate: certificate revoked");
}

TEST_F(ClientCertificates, AnOldListRefusesAll) {
  require(config::ClientCertificate::require, clients.revocations({}, -60));
  EXPECT_EQ(connect(clients.issue()), "bad_client_certificate: CRL has expired");
}

// Otherwise a certificate that has expired or was revoked could still be used.
TEST_F(ClientCertificates, SessionsAreNotResumed) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    require(config::ClientCertificate::require);
    TlsClientOptions options = world.client_options();
    options.credential = clients.issue();
    options.max_version = version;
    TlsConnection first(world, options);
    first.ask("x");
    first.client.shutdown_write();
    options.session = first.client.session();
    TlsConnection second(world, options);
    second.ask("y");
    EXPECT_FALSE(second.client.was_resumed()) << version;
    EXPECT_EQ(second.owner.bytes, "y");
  }
}

}  // namespace
}  // namespace stdgate::test
