// DepartureWatch: a peer that leaves while its bytes are not read.
#include "transports/net/departure_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "tests/support/loop_runner.h"
#include "tests/unit/net/stream_pair.h"

namespace stdgate {
namespace {

using test::run_until;

struct DepartureWatchTest : testing::Test {
  void open(net::FileDescriptor own_end, net::FileDescriptor peer_end) {
    own = std::move(own_end);
    peer = std::move(peer_end);
    told = 0;
    watch = std::make_unique<net::DepartureWatch>(loop, own.get(), [this] { ++told; });
    ASSERT_EQ(::write(peer.get(), "unread", 6), 6);
  }
  void open_pipe() {
    std::array<int, 2> fds{};
    ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    open(net::FileDescriptor(fds[0]), net::FileDescriptor(fds[1]));
  }
  void open_socket(net::ByteStream::Kind kind) {
    test::Ends ends = test::socket_pair(kind);
    open(std::move(ends[0]), std::move(ends[1]));
  }
  void expect_told_once() {
    watch->start();
    loop.run_once();
    EXPECT_EQ(told, 0) << "it is there, and its bytes are not what is watched";
    peer.reset();
    EXPECT_TRUE(run_until(loop, [&] { return told > 0; }));
    loop.run_once();
    EXPECT_EQ(told, 1);
  }

  net::Loop loop;
  net::FileDescriptor own;
  net::FileDescriptor peer;
  int told = 0;
  std::unique_ptr<net::DepartureWatch> watch;
};

TEST_F(DepartureWatchTest, IsToldOnce) {
  open_pipe();
  expect_told_once();
  for (const auto kind : {net::ByteStream::Kind::tcp, net::ByteStream::Kind::pipe}) {
    open_socket(kind);
    expect_told_once();
  }
}

TEST_F(DepartureWatchTest, BesideTheStreamThatOwnsTheDescriptor) {
  open_pipe();
  test::StreamOwner owner;
  owner.adopt(loop, std::move(own), net::ByteStream::Kind::pipe);
  expect_told_once();
  EXPECT_TRUE(owner.bytes.empty());
}

TEST_F(DepartureWatchTest, WhoHasLeftBeforeIsToldToo) {
  open_pipe();
  peer.reset();
  watch->start();
  EXPECT_TRUE(run_until(loop, [&] { return told == 1; }));
}

TEST_F(DepartureWatchTest, NothingIsToldAfterTheStop) {
  open_pipe();
  watch->start();
  peer.reset();
  watch->stop();
  test::run_for(loop, std::chrono::milliseconds(20));
  EXPECT_EQ(told, 0);
  watch->start();
  EXPECT_TRUE(run_until(loop, [&] { return told == 1; }));
  watch.reset();
  loop.run_once();
}

TEST_F(DepartureWatchTest, WhatCannotBeWatchedIsNeverLeft) {
  for (const int fd : {-1, ::open("/dev/null", O_RDONLY | O_CLOEXEC)}) {
    net::DepartureWatch none(loop, fd, [this] { ++told; });
    none.start();
    loop.run_once();
    none.stop();
    if (fd >= 0) ::close(fd);
  }
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace stdgate
