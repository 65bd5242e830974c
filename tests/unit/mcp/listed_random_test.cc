// Servers whose tool changes and changes back at random times, in lists of one page or two. No
// child gets a call that its own list does not allow, and each call ends.
#include <gmock/gmock.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "gateway/mcp/listed_filter.h"
#include "tests/unit/mcp/listed_bench.h"

namespace stdgate::test {
namespace {

// The pinned tool takes a number, the changed one a string.
std::string random_tool(const std::string& name, bool is_turned) {
  return R"({"name":")" + name + R"(","inputSchema":{"type":"object","properties":{"n":{"type":")" +
         (is_turned ? "string" : "number") + R"("}}}})";
}

class RandomLists {
 public:
  RandomLists(unsigned seed, config::Pins pins)
      : random_(seed), pins_(pins), calls_(options_of(seed, pins)) {}

  // Returns the number of calls that children received.
  size_t run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) act();
    is_quiet_ = true;
    for (int turn = 0; turn < 200 && calls_.client.answers.size() < sent_; ++turn) {
      for (size_t index = 0; index < children_.size(); ++index) {
        while (answer_one(index)) {
        }
      }
      calls_.bench.advance(seconds(1));
      take_all();
    }
    EXPECT_EQ(calls_.client.answers.size(), sent_) << "a call hangs";
    return passed_;
  }

 private:
  struct Bench : ListedCalls {
    using ListedCalls::ListedCalls;
    void TestBody() override {}
  };
  struct Listing {
    Asked asked;
    bool is_turned;  // whether the page shows the changed tool
    bool is_stale;
    bool is_last;
  };
  // The state of a child, and of its lists.
  struct Server {
    bool is_gone = false;
    bool is_turned = false;  // whether its tool is the changed one now
    bool has_pages = false;
    bool is_known = false;  // the whole list was answered, and no change was reported since
    bool is_good = false;   // its last list showed the pinned tool
    std::deque<Listing> lists;
    std::deque<std::string> calls;
  };

  static backend::BackendOptions options_of(unsigned seed, config::Pins pins) {
    backend::BackendOptions options = one_call_each(1 + seed % 3);
    options.config.pool.max_in_flight = 1 + seed % 4;
    options.config.pins = pins;
    options.config.check.arguments = true;
    options.config.lock_text = R"({"version":1,"servers":{"fake":{"tools":{"t":{"definition":)" +
                               random_tool("t", false) + "}}}}}";
    return options;
  }
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_()) % below; }

  void act() {
    if (children_.empty() || pick(4) == 0) {
      calls_.call_tool(std::to_string(++sent_), pick(2) == 0
                                                    ? R"("name":"t","arguments":{"n":1})"
                                                    : R"("name":"t","arguments":{"n":"x"})");
      return take_all();
    }
    const size_t index = pick(static_cast<unsigned>(children_.size()));
    Server& server = children_[index];
    if (server.is_gone) {
      calls_.bench.advance(seconds(pick(3)));
      return take_all();
    }
    switch (pick(8)) {
      case 0:
        server.is_turned = pick(3) == 0;
        server.has_pages = pick(2) == 0;
        server.is_known = false;
        for (Listing& listing : server.lists) listing.is_stale = true;
        calls_.bench.child(index).say(kToolsChanged);
        break;
      case 1:
        if (pick(6) != 0) break;
        server = Server();
        server.is_gone = true;
        calls_.bench.child(index).exit(1);
        break;
      default:
        answer_one(index);
    }
    calls_.bench.settle();
    take_all();
  }

  // Answers the oldest request for a list, or a call.
  bool answer_one(size_t index) {
    Server& server = children_[index];
    if (server.is_gone || (server.lists.empty() && server.calls.empty())) return false;
    FakeChild& child = calls_.bench.child(index);
    if (server.calls.empty() || (!server.lists.empty() && pick(2) == 0)) {
      const Listing listing = server.lists.front();
      server.lists.pop_front();
      if (listing.is_last) {
        server.is_known = !listing.is_stale;
        server.is_good = !listing.is_turned;
      }
      const std::string tools =
          listing.is_last ? random_tool("t", listing.is_turned) : random_tool("a", false);
      child.answer(listing.asked.id, list_of(tools, listing.is_last ? "" : R"(,"nextCursor":"2")"));
    } else {
      child.answer(server.calls.front(), kPassed);
      server.calls.pop_front();
    }
    calls_.bench.settle();
    take_all();
    return true;
  }

  // Takes all messages that the children have received.
  void take_all() {
    for (size_t index = 0; index < calls_.bench.launcher.launched(); ++index) {
      if (index == children_.size()) {
        children_.emplace_back().is_turned = !is_quiet_ && pick(3) == 0;
        calls_.bench.begin(index, kDiscovery);
        calls_.bench.settle();
      }
      if (children_[index].is_gone) continue;
      FakeChild& child = calls_.bench.child(index);
      for (std::string line = child.take_line(); !line.empty(); line = child.take_line()) {
        take(children_[index], line);
      }
    }
  }
  void take(Server& server, const std::string& line) {
    const Asked asked = parse_asked(line);
    if (asked.method == "tools/list") {
      const bool is_second = line.find("cursor") != std::string::npos;
      return server.lists.push_back(
          {asked, server.is_turned, false, is_second || !server.has_pages});
    }
    if (asked.method != "tools/call") return;
    ++passed_;
    EXPECT_TRUE(server.is_known) << "of a child whose list is not known: " << line;
    const bool has_number = line.find(R"("n":1)") != std::string::npos;
    EXPECT_EQ(has_number, server.is_good) << "its list does not allow it: " << line;
    if (pins_ == config::Pins::enforce) {
      EXPECT_TRUE(server.is_good) << "it is not as it was pinned: " << line;
    }
    server.calls.push_back(asked.id);
  }

  std::mt19937 random_;
  const config::Pins pins_;
  Bench calls_;
  std::deque<Server> children_;
  size_t sent_ = 0;
  size_t passed_ = 0;
  bool is_quiet_ = false;
};

class ListsAtRandom : public testing::TestWithParam<config::Pins> {};

TEST_P(ListsAtRandom, NoChildGetsWhatItsListForbids) {
  size_t passed = 0;
  for (unsigned seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    passed += RandomLists(seed, GetParam()).run(120);
  }
  EXPECT_GT(passed, 300U);
}

INSTANTIATE_TEST_SUITE_P(Pins, ListsAtRandom,
                         testing::Values(config::Pins::off, config::Pins::warn,
                                         config::Pins::enforce));

}  // namespace
}  // namespace stdgate::test
