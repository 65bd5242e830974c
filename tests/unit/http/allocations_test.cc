// The steady state of a connection allocates nothing per request: neither for a page nor, as far as
// HTTP is concerned, for a call.
#include <gtest/gtest.h>

#include "tests/support/counted_new.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

// Sends `request` and waits for as many bytes of answers as the first one had.
class Repeater {
 public:
  Repeater(HttpWorld& world, std::string request)
      : world_(world), client_(world), request_(std::move(request)) {
    client_.received.reserve(1 << 16);
    client_.send(request_);
    world_.until([this] { return !client_.received.empty(); });
    answer_size_ = client_.received.size();
  }
  void repeat(int times) {
    for (int i = 0; i < times; ++i) {
      client_.received.clear();
      client_.send(request_);
      while (client_.received.size() < answer_size_) world_.loop.run_once();
    }
  }

 private:
  HttpWorld& world_;
  TestClient client_;
  const std::string request_;
  size_t answer_size_ = 0;
};

TEST(Allocations, NoneForAPageInTheSteadyState) {
  HttpWorld world;
  for (const std::string fields :
       {"X-Some: header\r\nAccept: */*\r\n", "Origin: http://localhost:3000\r\n"}) {
    Repeater repeater(world, get("/", fields));
    repeater.repeat(100);
    const size_t before = allocation_count();
    repeater.repeat(100);
    EXPECT_EQ(allocation_count() - before, 0u) << fields;
  }
}

// A refused batch goes through body, envelope parser and rules, but not to a child.
TEST(Allocations, NoneForMessagesThatNobodyGets) {
  HttpWorld world;
  Repeater repeater(world, post("[" + result("1", "2") + "," + result("2", "3") + "]"));
  repeater.repeat(100);
  world.observer.dropped.clear();
  world.observer.dropped.reserve(1000);
  const size_t before = allocation_count();
  repeater.repeat(100);
  EXPECT_EQ(allocation_count() - before, 0u);
}

TEST(Allocations, AreCounted) {
  const size_t before = allocation_count();
  const auto box = std::make_unique<int>(1);
  EXPECT_EQ(allocation_count() - before, 1u) << *box;
}

}  // namespace
}  // namespace stdgate::test
