// The steady state of a WebSocket connection allocates nothing per message. The messages of this
// test reach no child.
#include <gtest/gtest.h>

#include "tests/support/counted_new.h"
#include "tests/unit/websocket/client_frames.h"
#include "tests/unit/websocket/websocket_world.h"

namespace stdgate::test {
namespace {

// Counts the allocations while the server reads `bytes` a hundred times. A ping follows the bytes,
// and each round waits for its pong.
size_t allocations_of(std::string_view bytes, size_t piece) {
  WebSocketWorld world;
  TestClient wire(world);
  EXPECT_EQ(wire.ask(handshake()).status, 101);
  wire.received.reserve(1 << 10);
  const std::string all = std::string(bytes) + client_frame(websocket::Opcode::ping, "x");
  const auto repeat = [&](int times) {
    for (int i = 0; i < times; ++i) {
      wire.received.clear();
      for (size_t at = 0; at < all.size(); at += piece) {
        wire.send(std::string_view(all).substr(at, piece));
        world.loop.run_once();
      }
      while (wire.received != "\x8a\x01x") world.loop.run_once();
    }
  };
  repeat(100);
  world.observer.dropped.clear();
  world.observer.dropped.reserve(1000);
  const size_t before = allocation_count();
  repeat(100);
  EXPECT_EQ(world.observer.dropped.size() % 100, 0u);
  EXPECT_GT(world.observer.dropped.size(), 0u);
  return allocation_count() - before;
}

TEST(WebSocketAllocations, NoneForMessages) {
  const std::string message = client_frame(result("1", "2"));
  EXPECT_EQ(allocations_of(message, SIZE_MAX), 0u) << "whole";
  EXPECT_EQ(allocations_of(message, 7), 0u) << "in pieces";
}

TEST(WebSocketAllocations, NoneForFragments) {
  const std::string message = result("1", "2");
  EXPECT_EQ(allocations_of(client_frame(websocket::Opcode::text, message.substr(0, 9), false) +
                               client_frame(websocket::Opcode::continuation, message.substr(9)),
                           SIZE_MAX),
            0u);
}

TEST(WebSocketAllocations, NoneForBatches) {
  EXPECT_EQ(
      allocations_of(client_frame("[" + result("1", "2") + "," + result("2", "3") + "]"), SIZE_MAX),
      0u);
}

}  // namespace
}  // namespace stdgate::test
