#include "transports/net/byte_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/support/loop_runner.h"
#include "tests/unit/net/stream_pair.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using test::Ends;
using test::pattern;
using test::read_now;
using test::run_until;
using test::StreamOwner;

class ByteStreamOver : public testing::TestWithParam<net::ByteStream::Kind> {
 protected:
  void SetUp() override {
    test::Ends ends = test::socket_pair(GetParam());
    owner_.adopt(loop_, std::move(ends[0]), GetParam());
    peer_ = std::move(ends[1]);
  }
  // Makes the peer's descriptor a stream of the same loop.
  void adopt_peer() { peer_owner_.adopt(loop_, std::move(peer_), GetParam()); }

  Account account_{SIZE_MAX};  // for tests that set it as a stream's payer
  net::Loop loop_;
  StreamOwner owner_;
  net::FileDescriptor peer_;
  StreamOwner peer_owner_;
};

INSTANTIATE_TEST_SUITE_P(Net, ByteStreamOver,
                         testing::Values(net::ByteStream::Kind::tcp, net::ByteStream::Kind::pipe),
                         [](const auto& test) {
                           return test.param == net::ByteStream::Kind::tcp ? "Tcp" : "Unix";
                         });

TEST_P(ByteStreamOver, Echoes) {
  adopt_peer();
  peer_owner_.bytes_hook = [&] { peer_owner_.stream->write("pong"); };
  peer_owner_.read();
  owner_.read();
  owner_.stream->write("ping");
  ASSERT_TRUE(run_until(loop_, [&] { return owner_.bytes == "pong"; }));
  EXPECT_EQ(peer_owner_.bytes, "ping");
  EXPECT_EQ(owner_.stream->bytes_read(), 4U);
  EXPECT_EQ(owner_.stream->bytes_written(), 4U);
  EXPECT_EQ(owner_.stream->unsent_bytes(), 0U);
  EXPECT_EQ(owner_.flushed, 1);
}

TEST_P(ByteStreamOver, WritesOfATurnGoOutTogether) {
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string part = std::to_string(i) + ";";
    owner_.stream->write(part);
    expected += part;
  }
  EXPECT_EQ(read_now(peer_), "");
  EXPECT_EQ(owner_.stream->unsent_bytes(), expected.size());
  loop_.run_once();
  EXPECT_EQ(read_now(peer_), expected);
  EXPECT_EQ(owner_.flushed, 1);
}

TEST_P(ByteStreamOver, LargePartsAreOfferedAtOnceWithWhatStandsBeforeThem) {
  const std::string below(net::ByteStream::kDirectWrite - 1, 'b');
  const std::string large(net::ByteStream::kDirectWrite, 'l');
  owner_.stream->write(below);
  EXPECT_EQ(read_now(peer_), "");
  const std::string_view parts[] = {"head", "", large, "tail"};
  owner_.stream->write(parts);
  std::string got = read_now(peer_);
  EXPECT_FALSE(got.empty());
  EXPECT_EQ(owner_.flushed, 0);
  EXPECT_TRUE(run_until(loop_, [&] {
    got += read_now(peer_);
    return got.size() == below.size() + large.size() + 8;
  }));
  EXPECT_EQ(got, below + "head" + large + "tail");
  EXPECT_TRUE(run_until(loop_, [&] { return owner_.flushed == 1; }));
}

TEST_P(ByteStreamOver, MorePartsThanOneGatherTakesKeepTheirOrder) {
  const std::string bytes = pattern(100 * 1000 + net::ByteStream::kDirectWrite);
  std::vector<std::string_view> parts;
  for (size_t i = 0; i < 100; ++i) parts.push_back(std::string_view(bytes).substr(i * 1000, 1000));
  parts.push_back(std::string_view(bytes).substr(100 * 1000));
  owner_.stream->write(parts);
  std::string got;
  EXPECT_TRUE(run_until(loop_, [&] {
    got += read_now(peer_);
    return got.size() == bytes.size();
  }));
  EXPECT_EQ(got, bytes);
}

// The sizes are near three limits: what is written at once, what libuv gets at a time, and what the
// kernel takes.
TEST_P(ByteStreamOver, CarriesMuchBothWaysToASlowReader) {
  adopt_peer();
  const std::string there = pattern(8 << 20);
  std::string back = there;
  std::ranges::reverse(back);
  Timer resume(loop_.timers(), [&] { owner_.stream->resume_read(net::ByteStream::kBusy); });
  owner_.bytes_hook = [&] {
    owner_.stream->pause_read(net::ByteStream::kBusy);
    resume.arm(loop_.now() + milliseconds(1));
  };
  owner_.read();
  peer_owner_.read();
  constexpr size_t kSizes[] = {1, 100, 65535, 65536, 262144, 262145, 3000000, SIZE_MAX};
  size_t at = 0;
  for (const size_t size : kSizes) {
    const std::string_view rest = std::string_view(there).substr(at);
    owner_.stream->write(rest.substr(0, size));
    at += std::min(size, rest.size());
  }
  peer_owner_.stream->write(back);
  ASSERT_TRUE(run_until(loop_, [&] {
    return owner_.bytes.size() == back.size() && peer_owner_.bytes.size() == there.size();
  }));
  EXPECT_TRUE(owner_.bytes == back);
  EXPECT_TRUE(peer_owner_.bytes == there);
  EXPECT_TRUE(run_until(loop_, [&] { return owner_.flushed > 0 && peer_owner_.flushed > 0; }));
  EXPECT_EQ(owner_.stream->bytes_written(), there.size());
  EXPECT_EQ(owner_.stream->bytes_read(), back.size());
}

TEST_P(ByteStreamOver, CountsWhatTheKernelHasTaken) {
  const std::string bytes = pattern(8 << 20);
  owner_.stream->write(bytes);
  std::string got;
  while (got.size() < bytes.size()) {
    loop_.run_once();
    const size_t written = owner_.stream->bytes_written();
    EXPECT_EQ(written + owner_.stream->unsent_bytes(), bytes.size());
    EXPECT_GE(written, got.size());
    got += read_now(peer_);
  }
  EXPECT_TRUE(got == bytes);
}

TEST_P(ByteStreamOver, TheAccountPaysForWhatTheKernelDoesNotTake) {
  Account& account = account_;
  owner_.stream->set_payer({&account, nullptr});
  const std::string bytes = pattern(16 << 20);
  owner_.stream->write(bytes);
  EXPECT_GE(account.used(), owner_.stream->unsent_bytes());
  for (int i = 0; i < 100; ++i) owner_.stream->write(std::string_view(bytes).substr(0, 1000));
  loop_.run_once();
  EXPECT_GE(account.used(), owner_.stream->unsent_bytes());
  EXPECT_EQ(account.used(), owner_.stream->unsent_memory());
  std::string got;
  ASSERT_TRUE(run_until(loop_, [&] {
    got += read_now(peer_);
    return got.size() == bytes.size() + 100'000;
  }));
  EXPECT_TRUE(run_until(loop_, [&] { return account.used() == 0; }));
  owner_.stream->write(bytes);
  owner_.stream->close();
  EXPECT_EQ(account.used(), 0U);
}

// Large and small bytes, shared or not, in different orders: none are lost, repeated or moved.
TEST_P(ByteStreamOver, SharedBytesKeepTheirPlaceAmongOthers) {
  Account& account = account_;
  owner_.stream->set_payer({&account, nullptr});
  const std::string filler = pattern(8 << 20);  // fills the kernel's buffers
  owner_.stream->write(filler);
  std::string expected = filler;
  const size_t before = account.used();
  const std::string large = pattern(900'000);
  for (int i = 0; i < 100; ++i) {
    const std::string head = "head " + std::to_string(i) + ";";
    const size_t size = i % 3 == 0 ? large.size() : i % 3 == 1 ? StoragePool::kShared : 100;
    const std::string_view parts[] = {head, std::string_view(large).substr(0, size), ";tail"};
    const SharedOffer offer(loop_.storages(), large, {&account, nullptr});
    owner_.stream->write(parts);
    expected.append(head).append(parts[1]).append(";tail");
    if (i % 10 == 0) loop_.run_once();
  }
  EXPECT_EQ(owner_.stream->bytes_written() + owner_.stream->unsent_bytes(), expected.size());
  EXPECT_GT(account.used(), before);
  std::string got;
  ASSERT_TRUE(run_until(loop_, [&] {
    got += read_now(peer_);
    return got.size() == expected.size();
  }));
  EXPECT_TRUE(got == expected);
  EXPECT_TRUE(run_until(loop_, [&] { return account.used() == 0; }));
}

TEST(SharedWrites, AreHeldOnceByAllStreamsAndCountForEach) {
  constexpr size_t kStreams = 20;
  Account account(SIZE_MAX);
  net::Loop loop;
  std::array<StreamOwner, kStreams> owners;
  std::array<net::FileDescriptor, kStreams> peers;
  const std::string filler = pattern(4 << 20);
  for (size_t i = 0; i < kStreams; ++i) {
    test::Ends ends = test::unix_pair();
    owners[i].adopt(loop, std::move(ends[0]), net::ByteStream::Kind::pipe);
    peers[i] = std::move(ends[1]);
    owners[i].stream->set_payer({&account, nullptr});
    owners[i].stream->write(filler);
  }
  loop.run_once();
  const size_t before = account.used();
  const std::string text = pattern(900'000);
  {
    const SharedOffer offer(loop.storages(), text, {&account, nullptr});
    for (StreamOwner& owner : owners) {
      const size_t unsent = owner.stream->unsent_bytes();
      owner.stream->write(text);
      EXPECT_EQ(owner.stream->unsent_bytes(), unsent + text.size());
    }
  }
  loop.run_once();
  EXPECT_LE(account.used(), before + text.size());
  for (StreamOwner& owner : owners) owner.stream->close();
  EXPECT_EQ(account.used(), 0U);
  loop.run_once();
}

TEST_P(ByteStreamOver, TellsWhenHalfOfTheWatermarkIsLeft) {
  constexpr size_t kWatermark = 4 << 20;
  owner_.stream->set_watermark(kWatermark);
  size_t unsent_when_told = SIZE_MAX;
  owner_.writable_hook = [&] { unsent_when_told = owner_.stream->unsent_bytes(); };
  size_t taken = 0;
  while (owner_.stream->unsent_bytes() <= kWatermark) owner_.stream->write(pattern(1 << 20));
  const size_t total = owner_.stream->unsent_bytes() + owner_.stream->bytes_written();
  loop_.run_once();
  EXPECT_EQ(owner_.writable, 0);
  while (taken < total) {
    taken += read_now(peer_).size();
    loop_.run_once();
  }
  EXPECT_TRUE(run_until(loop_, [&] { return owner_.flushed == 1; }));
  EXPECT_EQ(owner_.writable, 1);
  EXPECT_LE(unsent_when_told, kWatermark / 2);
  EXPECT_GT(unsent_when_told, 0U);
}

TEST_P(ByteStreamOver, TheWatermarkItselfIsNotAboveIt) {
  owner_.stream->set_watermark(1000);
  owner_.stream->write(pattern(1000));
  loop_.run_once();
  EXPECT_EQ(owner_.writable, 0);
  owner_.stream->write(pattern(1001));
  loop_.run_once();
  EXPECT_EQ(owner_.writable, 1);
}

TEST_P(ByteStreamOver, ReadsNothingUntilStartedAndWhilePaused) {
  adopt_peer();
  peer_owner_.stream->write("one");
  test::run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "");
  owner_.read();
  ASSERT_TRUE(run_until(loop_, [&] { return owner_.bytes == "one"; }));
  owner_.stream->pause_read(net::ByteStream::kBusy);
  owner_.stream->pause_read(net::ByteStream::kBackPressure);
  peer_owner_.stream->write("two");
  test::run_for(loop_, milliseconds(20));
  owner_.stream->resume_read(net::ByteStream::kBusy);
  test::run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.bytes, "one");
  owner_.stream->resume_read(net::ByteStream::kBackPressure);
  ASSERT_TRUE(run_until(loop_, [&] { return owner_.bytes == "onetwo"; }));
}

// Even with much to read, a pause at the end of the turn comes in time.
TEST(ByteStream, ReadsABoundedAmountInOneTurn) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const net::FileDescriptor writer(fds[1]);
  ASSERT_GE(::fcntl(writer.get(), F_SETPIPE_SZ, 1 << 20), 1 << 20);
  const std::string bytes = pattern(1 << 20);
  ASSERT_EQ(::write(writer.get(), bytes.data(), bytes.size()), 1 << 20);

  net::Loop loop;
  StreamOwner owner;
  owner.adopt(loop, net::FileDescriptor(fds[0]), net::ByteStream::Kind::pipe);
  struct Pauser final : net::Flushable {
    explicit Pauser(net::ByteStream& s) : stream(s) {}
    void flush() override { stream.pause_read(net::ByteStream::kBackPressure); }
    net::ByteStream& stream;
  } pauser(*owner.stream);
  owner.bytes_hook = [&] { loop.flush_later(pauser); };
  owner.read();
  test::run_for(loop, milliseconds(30));
  EXPECT_EQ(owner.bytes.size(), net::ByteStream::kReadShare);
  owner.bytes_hook = nullptr;
  owner.stream->resume_read(net::ByteStream::kBackPressure);
  ASSERT_TRUE(run_until(loop, [&] { return owner.bytes.size() == bytes.size(); }));
  EXPECT_TRUE(owner.bytes == bytes);
}

// A stream with endless input delays the other streams by one share per turn.
TEST(ByteStream, ReadsItsShareOnceATurn) {
  net::Loop loop;
  test::Ends ends = test::unix_pair();
  const int size = 1 << 20;
  ASSERT_EQ(::setsockopt(ends[1].get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
  StreamOwner owner;
  owner.adopt(loop, std::move(ends[0]), net::ByteStream::Kind::pipe);
  owner.read();
  const std::string bytes = pattern(1 << 20);
  size_t sent = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const ssize_t count = ::send(ends[1].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) sent += static_cast<size_t>(count);
    const size_t before = owner.bytes.size();
    ASSERT_GT(sent - before, net::ByteStream::kReadShare);
    loop.run_once();
    EXPECT_EQ(owner.bytes.size() - before, net::ByteStream::kReadShare);
  }
}

TEST_P(ByteStreamOver, WritesItsShareOnceATurn) {
  const std::string bytes = pattern(8 * net::ByteStream::kWriteShare);
  // Bytes are copied at the turn's end, or offered at once. A turn writes at most one share, and a
  // share that the kernel had no room for before.
  uint64_t written = 0;
  for (const size_t piece : {net::ByteStream::kDirectWrite - 1, bytes.size()}) {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      owner_.stream->write(std::string_view(bytes).substr(at, piece));
    }
    std::string got;
    ASSERT_TRUE(run_until(loop_, [&] {
      EXPECT_LE(owner_.stream->bytes_written() - written, 2 * net::ByteStream::kWriteShare);
      written = owner_.stream->bytes_written();
      got += read_now(peer_);
      return got.size() == bytes.size();
    }));
    EXPECT_TRUE(got == bytes);
  }
}

// One large message to many idle streams must not make a turn long for all other streams.
TEST(ByteStreamShares, AllStreamsTogetherWriteTheirShareOfATurn) {
  net::Loop loop;
  constexpr size_t kStreams = 128;
  constexpr size_t kSize = 128 << 10;  // what a socket takes at once
  static_assert(kStreams * kSize > 3 * net::Loop::kWriteShare);
  std::vector<StreamOwner> owners(kStreams);
  std::vector<net::FileDescriptor> peers;
  for (StreamOwner& owner : owners) {
    Ends ends = test::unix_pair();
    owner.adopt(loop, std::move(ends[0]), net::ByteStream::Kind::pipe);
    peers.push_back(std::move(ends[1]));
  }
  const std::string text = pattern(kSize);
  for (StreamOwner& owner : owners) owner.stream->write(text);
  const auto written = [&] {
    size_t sum = 0;
    for (const StreamOwner& owner : owners) sum += owner.stream->bytes_written();
    return sum;
  };
  std::vector<std::string> got(kStreams);
  size_t before = 0;
  EXPECT_TRUE(run_until(loop, [&] {
    EXPECT_LE(written() - before, 2 * net::Loop::kWriteShare);
    before = written();
    for (size_t i = 0; i < kStreams; ++i) got[i] += read_now(peers[i]);
    return std::ranges::all_of(got, [&](const std::string& bytes) { return bytes == text; });
  }));
}

TEST_P(ByteStreamOver, TakesStorageOverInsteadOfCopying) {
  const std::string bytes = pattern(4 << 20);
  ByteQueue storage;
  storage.append(bytes);
  const std::string_view parts[] = {"head", storage.view().substr(100), "tail"};
  {
    const StorageOffer offer(loop_.storages(), storage);
    owner_.stream->write("before");
    owner_.stream->write(parts);
    owner_.stream->write("behind");
  }
  EXPECT_EQ(storage.capacity(), 0U);
  EXPECT_EQ(parts[1], std::string_view(bytes).substr(100));  // valid until the end of this turn
  std::string got;
  const std::string expected = "beforehead" + bytes.substr(100) + "tailbehind";
  EXPECT_TRUE(run_until(loop_, [&] {
    got += read_now(peer_);
    return got.size() == expected.size();
  }));
  EXPECT_TRUE(got == expected);
  EXPECT_TRUE(run_until(loop_, [&] { return owner_.flushed == 1; }));
  EXPECT_TRUE(loop_.storages().keeps_large());
}

// The owner of the storage, and others with a view of it, may still read it.
TEST_P(ByteStreamOver, WhatWasTakenOverOutlivesAClose) {
  ByteQueue storage;
  storage.append(pattern(4 << 20));
  const std::string_view view = storage.view();
  {
    const StorageOffer offer(loop_.storages(), storage);
    owner_.stream->write(view);
    ASSERT_EQ(storage.capacity(), 0U);
    owner_.stream->close();
  }
  EXPECT_TRUE(view == pattern(4 << 20));
  EXPECT_FALSE(loop_.storages().keeps_large());
  loop_.run_once();
}

TEST_P(ByteStreamOver, PausingAtEachReadLosesNothing) {
  const std::string bytes = pattern(4 << 20);
  adopt_peer();
  owner_.bytes_hook = [&] {
    owner_.stream->pause_read(net::ByteStream::kBackPressure);
    // The stream is resumed inside the read and from outside, because owners use both ways.
    if (owner_.reads % 2 == 0) owner_.stream->resume_read(net::ByteStream::kBackPressure);
  };
  owner_.read();
  peer_owner_.stream->write(bytes);
  peer_owner_.stream->shutdown_write();
  ASSERT_TRUE(run_until(loop_, [&] {
    owner_.stream->resume_read(net::ByteStream::kBackPressure);
    return owner_.ends == 1;
  }));
  EXPECT_TRUE(owner_.bytes == bytes);
}

TEST_P(ByteStreamOver, ThePeersEndWaitsWhilePaused) {
  owner_.bytes_hook = [&] { owner_.stream->pause_read(net::ByteStream::kBusy); };
  owner_.read();
  ASSERT_EQ(::send(peer_.get(), "last", 4, 0), 4);
  peer_.reset();
  ASSERT_TRUE(run_until(loop_, [&] { return owner_.bytes == "last"; }));
  test::run_for(loop_, milliseconds(20));
  EXPECT_EQ(owner_.ends, 0);
  owner_.stream->resume_read(net::ByteStream::kBusy);
  EXPECT_EQ(owner_.ends, 0) << "told from within resume_read()";
  ASSERT_TRUE(run_until(loop_, [&] { return owner_.ends == 1; }));
  owner_.stream->pause_read(net::ByteStream::kBusy);
  owner_.stream->resume_read(net::ByteStream::kBusy);
  test::run_for(loop_, milliseconds(10));
  EXPECT_EQ(owner_.ends, 1);
  EXPECT_EQ(owner_.errors, 0);
}

TEST_P(ByteStreamOver, ManyTurnsOfRequestAndAnswer) {
  adopt_peer();
  int answers = 0;
  peer_owner_.bytes_hook = [&] { peer_owner_.stream->write("answer"); };
  owner_.bytes_hook = [&] {
    if (++answers < 1000) owner_.stream->write("request");
  };
  peer_owner_.read();
  owner_.read();
  owner_.stream->write("request");
  EXPECT_TRUE(run_until(loop_, [&] { return answers == 1000; }));
}

}  // namespace
}  // namespace stdgate
