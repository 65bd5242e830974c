// The steady state of a connection allocates nothing per request. For a page this covers the whole
// request, for a call the part of HTTP.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/counted_new.h"
#include "tests/unit/http/http_world.h"

namespace stdgate::test {
namespace {

// Sends a request, in pieces or several at once. Waits until as many bytes have arrived as the
// first answer had, times the number of requests.
class Repeater {
 public:
  Repeater(HttpWorld& world, const std::string& request, size_t piece = SIZE_MAX,
           size_t at_once = 1)
      : world_(world), client_(world), piece_(piece) {
    client_.received.reserve(1 << 16);
    client_.send(request);
    world_.until([this] { return !client_.received.empty(); });
    answers_size_ = client_.received.size() * at_once;
    for (size_t i = 0; i < at_once; ++i) round_ += request;
  }
  void repeat(int times) {
    for (int i = 0; i < times; ++i) {
      client_.received.clear();
      for (size_t at = 0; at < round_.size(); at += std::min(piece_, round_.size())) {
        client_.send(std::string_view(round_).substr(at, piece_));
        world_.loop.run_once();
      }
      while (client_.received.size() < answers_size_) world_.loop.run_once();
    }
  }

 private:
  HttpWorld& world_;
  TestClient client_;
  std::string round_;
  const size_t piece_;
  size_t answers_size_ = 0;
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

TEST(Allocations, NoneForWhatWaits) {
  HttpWorld world;
  const auto allocations = [](Repeater repeater) {
    repeater.repeat(100);
    const size_t before = allocation_count();
    repeater.repeat(100);
    return allocation_count() - before;
  };
  EXPECT_EQ(allocations(Repeater(world, get("/"), 7)), 0u) << "a header block in pieces";
  EXPECT_EQ(allocations(Repeater(world, get("/"), SIZE_MAX, 20)), 0u) << "pipelined requests";
}

// A refused batch passes the body, the envelope parser and the rules, but reaches no child.
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
