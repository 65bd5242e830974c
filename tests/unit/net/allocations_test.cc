// The steady state of a stream, with a request in and an answer out, allocates nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/counted_new.h"
#include "tests/support/loop_runner.h"
#include "tests/unit/net/stream_pair.h"

namespace stdgate {
namespace {

using test::StreamOwner;

// A client that sends the next request as soon as it has the answer, and its server.
struct Conversation {
  Conversation(net::Loop& loop, const std::string& text) : request(text) {
    test::Ends ends = test::unix_pair();
    client.adopt(loop, std::move(ends[0]), net::ByteStream::Kind::pipe);
    server.adopt(loop, std::move(ends[1]), net::ByteStream::Kind::pipe);
    client.bytes.reserve(1 << 20);
    server.bytes.reserve(1 << 20);
    server.bytes_hook = [this] {
      if (server.bytes.size() < request.size()) return;
      server.bytes.clear();
      server.stream->write(request);
    };
    client.bytes_hook = [this] {
      if (client.bytes.size() < request.size()) return;
      client.bytes.clear();
      ++answers;
      client.stream->write(request);
    };
    client.read();
    server.read();
    client.stream->write(request);
  }

  const std::string& request;
  StreamOwner client;
  StreamOwner server;
  int answers = 0;
};

TEST(Allocations, NoneInTheSteadyState) {
  for (const size_t size : {100, 10'000, 40'000}) {
    net::Loop loop;
    const std::string request(size, 'r');
    std::vector<std::unique_ptr<Conversation>> conversations;
    // Only requests of 40,000 bytes exceed what the kernel takes at once.
    const size_t count = size > StoragePool::kSmall ? 2 : 50;
    for (size_t i = 0; i < count; ++i) {
      conversations.push_back(std::make_unique<Conversation>(loop, request));
    }
    const auto all_have = [&](int answers) {
      return std::ranges::all_of(conversations, [&](auto& c) { return c->answers >= answers; });
    };
    ASSERT_TRUE(test::run_until(loop, [&] { return all_have(100); }));
    const size_t before = test::allocation_count();
    while (!all_have(300)) loop.wait_once();
    EXPECT_EQ(test::allocation_count() - before, 0U) << size << " bytes";
  }
}

TEST(Allocations, AreCounted) {
  const size_t before = test::allocation_count();
  const auto object = std::make_unique<std::vector<int>>(100);
  EXPECT_EQ(test::allocation_count(), before + 2);
  ByteQueue queue;
  queue.reserve(1);
  EXPECT_EQ(test::allocation_count(), before + 3);
}

}  // namespace
}  // namespace stdgate
