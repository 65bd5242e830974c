// TlsStream: bytes in both directions, in pieces of any size; pauses, back-pressure, and both ends.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cerrno>

#include "tests/unit/tls/tls_world.h"

namespace stdgate::test {
namespace {

TEST(TlsStream, CarriesBytesBothWays) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  EXPECT_TRUE(connection.client.is_open()) << connection.client.error();
  EXPECT_EQ(connection.client.version(), "TLSv1.3");
  connection.ask("question");
  EXPECT_EQ(connection.owner.bytes, "question");
  EXPECT_EQ(connection.stream->bytes_read(), 8u);
  connection.stream->write("answer");
  EXPECT_EQ(connection.stream->unsent_bytes(), 6u);
  connection.carry();
  EXPECT_EQ(connection.client.plain, "answer");
  EXPECT_EQ(connection.stream->unsent_bytes(), 0u);
  EXPECT_EQ(connection.stream->bytes_written(), 6u);
  EXPECT_EQ(connection.owner.flushed, 1);
}

TEST(TlsStream, OfBothVersions) {
  TlsWorld world;
  for (const auto& [version, name] :
       {std::pair{TLS1_2_VERSION, "TLSv1.2"}, std::pair{TLS1_3_VERSION, "TLSv1.3"}}) {
    TlsClientOptions options = world.client_options();
    options.max_version = version;
    TlsConnection connection(world, options);
    connection.ask("x");
    EXPECT_EQ(connection.client.version(), name);
    EXPECT_EQ(connection.owner.bytes, "x");
    connection.stream->write("y");
    connection.carry();
    EXPECT_EQ(connection.client.plain, "y");
  }
}

TEST(TlsStream, ByteByByte) {
  TlsWorld world;
  TlsConnection connection(world, world.client_options(), 1);
  const std::string text = tls_pattern(40'000);
  connection.carry();
  connection.ask(text);
  EXPECT_EQ(connection.owner.bytes, text);
  connection.stream->write(text);
  connection.carry();
  EXPECT_EQ(connection.client.plain, text);
}

// Two records of a client on an open connection, split at every position.
TEST(TlsStream, SplitAtEveryPosition) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  size_t size = 1;
  for (size_t at = 0; at <= size; ++at) {
    connection.owner.bytes.clear();
    connection.client.write("first record");
    connection.client.write("second");
    const std::string sealed = connection.client.take_sealed();
    size = sealed.size();
    connection.peer.send(sealed.substr(0, at));
    connection.peer.send(sealed.substr(at));
    ASSERT_EQ(connection.owner.bytes, "first recordsecond") << at;
  }
}

// The whole first flight of a client, split at every position.
TEST(TlsStream, HandshakesSplitAtEveryPosition) {
  TlsWorld world;
  size_t size = 1;
  for (size_t at = 0; at <= size; at += at < 16 ? 1 : 7) {
    TlsConnection connection(world);
    const std::string hello = connection.client.take_sealed();
    size = hello.size();
    if (at > 0) connection.peer.send(hello.substr(0, at));
    if (at < size) connection.peer.send(hello.substr(at));
    connection.carry();
    ASSERT_TRUE(connection.client.is_open()) << at;
    connection.ask("x");
    ASSERT_EQ(connection.owner.bytes, "x");
  }
  EXPECT_EQ(world.handshakes.under_way(), 0u);
}

TEST(TlsStream, WhatIsWrittenBeforeTheHandshakeIsSentAfterIt) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.stream->write("refused");
  connection.stream->shutdown_write();
  EXPECT_EQ(connection.stream->unsent_bytes(), 7u);
  connection.carry();
  EXPECT_EQ(connection.client.plain, "refused");
  EXPECT_TRUE(connection.client.has_ended());
  EXPECT_TRUE(connection.peer.ended);
}

TEST(TlsStream, WhilePausedNothingIsDecrypted) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.owner.bytes_hook = [&] { connection.stream->pause_read(net::Stream::kBusy); };
  const std::string text = tls_pattern(300'000);
  connection.client.write(text);
  connection.peer.send(connection.client.take_sealed());
  EXPECT_EQ(connection.owner.reads, 1);
  EXPECT_FALSE(connection.peer.stream->is_read());
  connection.turn();
  EXPECT_EQ(connection.owner.reads, 1);
  EXPECT_EQ(connection.stream->bytes_read(), connection.owner.bytes.size());
  int resumed = 0;
  while (connection.owner.bytes.size() < text.size() && resumed < 100) {
    ++resumed;
    connection.stream->resume_read(net::Stream::kBusy);
    EXPECT_EQ(connection.owner.reads, resumed);  // not from within that call
    connection.turn();
    ASSERT_EQ(connection.owner.reads, resumed + 1);
  }
  EXPECT_EQ(connection.owner.bytes, text);
}

TEST(TlsStream, TheEndWaitsForAPause) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.owner.bytes_hook = [&] { connection.stream->pause_read(net::Stream::kBackPressure); };
  connection.client.write("last");
  connection.client.shutdown_write();
  connection.peer.send(connection.client.take_sealed());
  connection.turn();
  EXPECT_EQ(connection.owner.bytes, "last");
  EXPECT_EQ(connection.owner.ends, 0);
  connection.stream->resume_read(net::Stream::kBackPressure);
  EXPECT_EQ(connection.owner.ends, 0);
  connection.turn();
  EXPECT_EQ(connection.owner.ends, 1);
}

TEST(TlsStream, WhatIsLeftWhilePausedIsCharged) {
  Account account(1 << 30);
  TlsWorld world;
  TlsConnection connection(world);
  connection.stream->set_payer({&account, nullptr});
  connection.carry();
  EXPECT_EQ(account.used(), 0u);
  connection.owner.bytes_hook = [&] { connection.stream->pause_read(net::Stream::kBusy); };
  connection.client.write(tls_pattern(200'000));
  connection.peer.send(connection.client.take_sealed());
  EXPECT_GT(account.used(), 100'000u);
  connection.owner.bytes_hook = nullptr;
  connection.stream->resume_read(net::Stream::kBusy);
  connection.turn();
  EXPECT_EQ(connection.owner.bytes.size(), 200'000u);
  EXPECT_EQ(account.used(), 0u);
}

TEST(TlsStream, NoMoreIsSealedThanTheSocketNeeds) {
  Account account(1 << 30);
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.stream->set_payer({&account, nullptr});
  connection.stream->set_watermark(128 << 10);
  connection.peer.set_taking(false);
  const std::string text = tls_pattern(3 << 20);
  connection.stream->write(text);
  connection.turn();
  EXPECT_GE(connection.stream->unsent_bytes(), text.size());
  EXPECT_LT(connection.peer.stream->unsent_bytes(), tls::TlsStream::kSealAhead + (192 << 10));
  EXPECT_GE(account.used(), text.size() - tls::TlsStream::kSealAhead - (192 << 10));
  EXPECT_EQ(connection.owner.flushed, 0);
  for (int i = 0; i < 100 && connection.stream->unsent_bytes() > 0; ++i) {
    connection.peer.set_taking(true);
    connection.peer.set_taking(false);
    connection.turn();
  }
  connection.peer.set_taking(true);
  connection.carry();
  EXPECT_EQ(connection.client.plain, text);
  EXPECT_EQ(connection.owner.writable, 1);
  EXPECT_EQ(connection.owner.flushed, 1);
  EXPECT_EQ(account.used(), 0u);
  EXPECT_EQ(connection.stream->bytes_written(), text.size());
}

TEST(TlsStream, ABroadcastStaysInOneCopy) {
  Account account(1 << 30);
  TlsWorld world;
  TlsConnection one(world);
  TlsConnection two(world);
  const std::string text = tls_pattern(2 << 20);
  for (TlsConnection* connection : {&one, &two}) {
    connection->carry();
    connection->stream->set_payer({&account, nullptr});
    connection->peer.set_taking(false);
  }
  {
    const SharedOffer offer(world.loop.storages(), text, {&account, nullptr});
    one.stream->write(text);
    two.stream->write(text);
  }
  EXPECT_LT(account.used(), text.size() + 1000);
  for (TlsConnection* connection : {&one, &two}) {
    connection->peer.set_taking(true);
    connection->carry();
    EXPECT_EQ(connection->client.plain, text);
  }
}

TEST(TlsStream, LargeMessagesBothWays) {
  TlsWorld world;
  TlsConnection connection(world);
  const std::string text = tls_pattern(16 << 20);
  connection.ask(text);
  EXPECT_TRUE(connection.owner.bytes == text);
  connection.stream->write(text);
  connection.carry();
  EXPECT_TRUE(connection.client.plain == text);
}

TEST(TlsStream, HalfClosedByTheClient) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.client.write("request");
  connection.client.shutdown_write();
  connection.carry();
  EXPECT_EQ(connection.owner.bytes, "request");
  EXPECT_EQ(connection.owner.ends, 1);
  connection.stream->write("answer");
  connection.stream->shutdown_write();
  connection.stream->write("nothing after it");
  connection.carry();
  EXPECT_EQ(connection.client.plain, "answer");
  EXPECT_TRUE(connection.peer.ended);
}

TEST(TlsStream, WhatFollowsTheClientsEndIsNotKept) {
  Account account(1 << 30);
  TlsWorld world;
  for (const bool is_paused : {false, true}) {
    TlsConnection connection(world);
    connection.carry();
    connection.stream->set_payer({&account, nullptr});
    connection.client.write("last");
    const std::string before = connection.client.take_sealed();
    connection.client.shutdown_write();
    const std::string end = connection.client.take_sealed();
    if (is_paused) {
      connection.owner.bytes_hook = [&] { connection.stream->pause_read(net::Stream::kBusy); };
    }
    connection.peer.send(before + end);
    for (int i = 0; i < 10; ++i) connection.peer.send(tls_pattern(100'000));
    EXPECT_EQ(connection.owner.bytes, "last");
    EXPECT_LT(account.used(), 200'000u) << is_paused;
    connection.stream->resume_read(net::Stream::kBusy);
    connection.turn();
    EXPECT_EQ(connection.owner.errors, 0);
    EXPECT_EQ(connection.owner.ends, 1);
    EXPECT_EQ(account.used(), 0u) << is_paused;
  }
}

TEST(TlsStream, APauseFromBeforeTheHandshakeHolds) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.stream->pause_read(net::Stream::kBusy);
  connection.carry();
  ASSERT_TRUE(connection.client.is_open()) << connection.client.error();
  EXPECT_FALSE(connection.peer.stream->is_read());
  connection.client.write("question");
  connection.stream->resume_read(net::Stream::kBusy);
  connection.carry();
  EXPECT_EQ(connection.owner.bytes, "question");
}

TEST(TlsStream, HalfClosedByTheServer) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.stream->write("bye");
  connection.stream->shutdown_write();
  connection.turn();
  EXPECT_TRUE(connection.peer.ended);
  connection.give_client();
  EXPECT_TRUE(connection.client.has_ended());
  connection.client.write("still here");
  connection.send(connection.client.take_sealed());
  EXPECT_EQ(connection.owner.bytes, "still here");
}

TEST(TlsStream, ACloseSaysSo) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.stream->close();
  connection.turn();
  connection.give_client();
  EXPECT_TRUE(connection.client.has_ended());
  EXPECT_TRUE(connection.client.error().empty());
  connection.peer.send("no event follows");
  connection.peer.end();
  EXPECT_EQ(connection.owner.ends + connection.owner.errors + connection.owner.reads, 0);
}

TEST(TlsStream, EndWithoutCloseNotifyIsAnEnd) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.peer.end();
  EXPECT_EQ(connection.owner.ends, 1);
  EXPECT_EQ(connection.owner.errors, 0);
}

TEST(TlsStream, AForgedRecordEndsIt) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.client.write("question");
  std::string sealed = connection.client.take_sealed();
  sealed.back() = static_cast<char>(sealed.back() ^ 1);
  connection.peer.send(sealed);
  EXPECT_EQ(connection.owner.bytes, "");
  EXPECT_EQ(connection.owner.error, -EPROTO);
  EXPECT_TRUE(world.events.failures.empty());  // the handshake did not fail
  connection.peer.send(sealed);
  EXPECT_EQ(connection.owner.errors, 1);
}

TEST(TlsStream, RenegotiationIsRefused) {
  TlsWorld world;
  TlsClientOptions options = world.client_options();
  options.max_version = TLS1_2_VERSION;
  TlsConnection connection(world, options);
  connection.carry();
  SSL_renegotiate(connection.client.ssl());
  SSL_do_handshake(connection.client.ssl());
  connection.carry();
  EXPECT_FALSE(connection.client.error().empty() && connection.client.is_open());
}

TEST(TlsStream, ManyKeyUpdatesAreCutOff) {
  TlsWorld world;
  for (const bool at_once : {false, true}) {
    TlsConnection connection(world);
    connection.carry();
    std::string updates;
    for (uint64_t i = 0; i <= tls::TlsStream::kMaxKeyUpdates; ++i) {
      EXPECT_EQ(connection.owner.errors, 0) << i;
      SSL_key_update(connection.client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
      SSL_do_handshake(connection.client.ssl());
      updates += connection.client.take_sealed();
      if (!at_once) connection.peer.send(std::exchange(updates, {}));
    }
    if (at_once) connection.peer.send(updates);
    EXPECT_EQ(connection.owner.errors, 1) << at_once;
  }
}

TEST(TlsStream, KeysAreUpdated) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  SSL_key_update(connection.client.ssl(), SSL_KEY_UPDATE_REQUESTED);
  connection.ask("after it");
  EXPECT_EQ(connection.owner.bytes, "after it");
  connection.stream->write("and back");
  connection.carry();
  EXPECT_EQ(connection.client.plain, "and back");
}

TEST(TlsStream, ErrorsOfTheSocketAreTold) {
  TlsWorld world;
  TlsConnection connection(world);
  connection.carry();
  connection.peer.fail(-ECONNRESET);
  EXPECT_EQ(connection.owner.error, -ECONNRESET);
}

}  // namespace
}  // namespace stdgate::test
