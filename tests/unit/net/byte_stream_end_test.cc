// The ends of streams: shutdown, errors, close, and destruction at any point.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/loop_runner.h"
#include "tests/unit/net/stream_pair.h"
#include "transports/net/byte_stream.h"

namespace stdgate {
namespace {

using test::at_end;
using test::Ends;
using test::pattern;
using test::read_now;
using test::run_until;
using test::StreamOwner;

struct ByteStreamEnd : testing::Test {
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  void open(net::ByteStream::Kind kind) {
    Ends ends = test::socket_pair(kind);
    owner.adopt(loop, std::move(ends[0]), kind);
    peer = std::move(ends[1]);
  }
  // Opens a pipe. The stream has the writing or the reading end of it.
  void open_pipe(bool writing) {
    std::array<int, 2> fds{};
    ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    owner.adopt(loop, net::FileDescriptor(fds[writing ? 1 : 0]), net::ByteStream::Kind::pipe);
    peer.reset(fds[writing ? 0 : 1]);
  }
  void reset_by_peer() {
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    peer.reset();
  }

  net::Loop loop;
  StreamOwner owner;
  net::FileDescriptor peer;
};

TEST_F(ByteStreamEnd, ShutdownComesAfterWhatIsUnsentAndReadingGoesOn) {
  for (const auto kind : {net::ByteStream::Kind::tcp, net::ByteStream::Kind::pipe}) {
    owner = {};
    open(kind);
    owner.read();
    const std::string bytes = pattern(4 << 20);
    owner.stream->write(bytes);
    owner.stream->shutdown_write();
    owner.stream->shutdown_write();
    owner.stream->write("dropped");
    std::string got;
    ASSERT_TRUE(run_until(loop, [&] {
      got += read_now(peer);
      return got.size() == bytes.size() && at_end(peer);
    }));
    EXPECT_TRUE(got == bytes);
    ASSERT_EQ(::send(peer.get(), "still", 5, 0), 5);
    EXPECT_TRUE(run_until(loop, [&] { return owner.bytes == "still"; }));
    EXPECT_EQ(owner.errors, 0);
  }
}

TEST_F(ByteStreamEnd, ShutdownOfAPipeClosesIt) {
  open_pipe(true);
  owner.stream->write("last words");
  owner.stream->shutdown_write();
  ASSERT_TRUE(run_until(loop, [&] { return owner.flushed == 1; }));
  std::array<char, 64> buffer{};
  EXPECT_EQ(::read(peer.get(), buffer.data(), buffer.size()), 10);
  EXPECT_EQ(::read(peer.get(), buffer.data(), buffer.size()), 0);
}

TEST_F(ByteStreamEnd, ReadsAPipe) {
  open_pipe(false);
  owner.read();
  ASSERT_EQ(::write(peer.get(), "bytes", 5), 5);
  peer.reset();
  ASSERT_TRUE(run_until(loop, [&] { return owner.ends == 1; }));
  EXPECT_EQ(owner.bytes, "bytes");
}

TEST_F(ByteStreamEnd, APipeThatNobodyReadsKeepsItsBytes) {
  open_pipe(true);
  const std::string bytes = pattern(2 << 20);
  owner.stream->write(bytes);
  loop.run_once();
  EXPECT_GT(owner.stream->unsent_bytes(), 1U << 20);
  EXPECT_EQ(owner.stream->unsent_bytes() + owner.stream->bytes_written(), bytes.size());
}

TEST_F(ByteStreamEnd, AResetIsOneError) {
  open(net::ByteStream::Kind::tcp);
  owner.read();
  reset_by_peer();
  ASSERT_TRUE(run_until(loop, [&] { return owner.errors > 0; }));
  EXPECT_EQ(owner.error, UV_ECONNRESET);
  owner.stream->write("into the void");
  owner.stream->write(pattern(1 << 20));
  owner.stream->pause_read(net::ByteStream::kBusy);
  owner.stream->resume_read(net::ByteStream::kBusy);
  test::run_for(loop, std::chrono::milliseconds(10));
  EXPECT_EQ(owner.errors, 1);
  EXPECT_EQ(owner.ends, 0);
  EXPECT_EQ(owner.stream->unsent_bytes(), 0U);
}

TEST_F(ByteStreamEnd, WriteErrorsComeFromTheLoopNotFromWrite) {
  for (const size_t size : {size_t{1}, size_t{1} << 20}) {
    for (const bool is_pipe : {false, true}) {
      owner = {};
      if (is_pipe) {
        open_pipe(true);
      } else {
        open(net::ByteStream::Kind::pipe);
      }
      peer.reset();
      owner.stream->write(pattern(size));
      EXPECT_EQ(owner.errors, 0);
      ASSERT_TRUE(run_until(loop, [&] { return owner.errors == 1; }));
      EXPECT_EQ(owner.error, UV_EPIPE);
      EXPECT_EQ(owner.flushed, 0);
    }
  }
}

TEST_F(ByteStreamEnd, AnErrorWithBytesInFlight) {
  for (const bool keep_going : {true, false}) {
    owner = {};
    open(net::ByteStream::Kind::tcp);
    owner.read();
    owner.stream->write(pattern(16 << 20));
    loop.run_once();
    ASSERT_GT(owner.stream->unsent_bytes(), 0U);
    reset_by_peer();
    if (!keep_going) owner.error_hook = [&] { loop.retire(std::move(owner.stream)); };
    ASSERT_TRUE(run_until(loop, [&] { return owner.errors == 1; }));
    test::run_for(loop, std::chrono::milliseconds(5));
    EXPECT_EQ(owner.errors, 1);
  }
}

TEST_F(ByteStreamEnd, ClosingEndsAllEvents) {
  open(net::ByteStream::Kind::pipe);
  owner.bytes_hook = [&] { owner.stream->close(); };
  owner.read();
  owner.stream->write("unsent");
  ASSERT_EQ(::send(peer.get(), "bytes", 5, 0), 5);
  ASSERT_TRUE(run_until(loop, [&] { return owner.reads == 1; }));
  // A closed stream accepts every call and does nothing.
  owner.stream->write("more");
  owner.stream->write(pattern(1 << 20));
  owner.stream->shutdown_write();
  owner.stream->pause_read(net::ByteStream::kBusy);
  owner.stream->resume_read(net::ByteStream::kBusy);
  owner.stream->close();
  test::run_for(loop, std::chrono::milliseconds(5));
  EXPECT_EQ(owner.stream->unsent_bytes(), 0U);
  EXPECT_EQ(owner.ends + owner.errors + owner.writable, 0);
  read_now(peer);
  EXPECT_TRUE(at_end(peer));
}

TEST_F(ByteStreamEnd, DestroyedWithUnsentBytesAndBytesInFlight) {
  for (const bool in_flight : {false, true}) {
    owner = {};
    open(net::ByteStream::Kind::pipe);
    owner.stream->write(pattern(in_flight ? 4 << 20 : 100));
    if (in_flight) loop.run_once();
    owner.stream.reset();
    loop.run();
    EXPECT_EQ(owner.errors + owner.flushed, 0);
  }
}

// The owner retires the stream in each of the events. The address sanitizer checks that this is
// safe.
TEST_F(ByteStreamEnd, MayBeRetiredInEachCallback) {
  using Hook = std::function<void()> StreamOwner::*;
  struct Case {
    const char* name;
    Hook hook;
    std::function<void()> cause;
  };
  const Case cases[] = {
      {"bytes", &StreamOwner::bytes_hook, [&] { ASSERT_EQ(::send(peer.get(), "x", 1, 0), 1); }},
      {"end", &StreamOwner::end_hook, [&] { peer.reset(); }},
      {"error", &StreamOwner::error_hook, [&] { reset_by_peer(); }},
      {"writable", &StreamOwner::writable_hook,
       [&] {
         owner.stream->set_watermark(1);
         owner.stream->write("xyz");
       }},
      {"flushed", &StreamOwner::flushed_hook, [&] { owner.stream->write("xyz"); }},
      {"write error", &StreamOwner::error_hook,
       [&] {
         owner.stream->pause_read(net::ByteStream::kBusy);
         reset_by_peer();
         owner.stream->write("xyz");
       }},
  };
  for (const bool destroy_by_close : {false, true}) {
    for (const Case& c : cases) {
      owner = {};
      open(net::ByteStream::Kind::tcp);
      bool done = false;
      owner.*c.hook = [&] {
        if (destroy_by_close) owner.stream->close();
        loop.retire(std::move(owner.stream));
        done = true;
      };
      owner.read();
      c.cause();
      ASSERT_TRUE(run_until(loop, [&] { return done; })) << c.name;
      loop.run();  // returns only if the handle has been closed
    }
  }
}

TEST_F(ByteStreamEnd, AdoptingNonsenseFails) {
  int error = 0;
  EXPECT_EQ(net::ByteStream::adopt(loop, -1, net::ByteStream::Kind::tcp, owner, &error), nullptr);
  EXPECT_EQ(error, UV_EBADF);
  EXPECT_EQ(net::ByteStream::adopt(loop, -1, net::ByteStream::Kind::pipe, owner, &error), nullptr);
  EXPECT_EQ(error, UV_EBADF);
  loop.run();
}

TEST_F(ByteStreamEnd, ReadingAWritingEndIsAnErrorFromTheLoop) {
  open_pipe(true);
  owner.read();
  EXPECT_EQ(owner.errors, 0);
  ASSERT_TRUE(run_until(loop, [&] { return owner.errors == 1; }));
  EXPECT_EQ(owner.error, UV_ENOTCONN);
}

TEST_F(ByteStreamEnd, APeerThatHasLeftIsSeenBehindBytesThatAreNotRead) {
  for (const auto kind : {net::ByteStream::Kind::tcp, net::ByteStream::Kind::pipe}) {
    owner = {};
    open(kind);
    ASSERT_EQ(::send(peer.get(), "unread", 6, 0), 6);
    loop.run_once();
    EXPECT_FALSE(owner.stream->has_peer_left());
    peer.reset();
    EXPECT_TRUE(run_until(loop, [&] { return owner.stream->has_peer_left(); }));
    EXPECT_EQ(owner.ends, 0);
    EXPECT_TRUE(owner.bytes.empty());
    owner.stream->close();
    EXPECT_TRUE(owner.stream->has_peer_left());
  }
}

}  // namespace
}  // namespace stdgate
