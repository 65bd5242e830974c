// Random histories of subscriptions. Sessions come and go, children answer late or never, or die,
// and time passes.
//
// The laws: a session is told only of resources that it has subscribed to. At the end each
// subscribed session is told exactly once, and children hold no subscription without a subscriber.

#include <deque>
#include <map>
#include <random>
#include <set>

#include "tests/unit/mcp/shared_bench.h"

namespace stdgate::test {
namespace {

constexpr size_t kSessions = 4;
const std::vector<std::string> kUris = {"a:/1", "a:/2", "b:/refused"};

// A child that takes its requests one after the other, and keeps its subscriptions.
class Subscribable {
 public:
  explicit Subscribable(FakeChild& process) : process_(process) {}

  void receive() {
    for (const std::string& line : process_.take_lines()) inbox_.push_back(line);
  }
  [[nodiscard]] bool has_work() const { return !inbox_.empty(); }
  // Handles one message. A cancel comes too late to have an effect.
  void work(bool answers) {
    const Asked asked = parse_asked(inbox_.front());
    inbox_.pop_front();
    if (asked.id.empty()) return;
    const bool is_subscribe = asked.method == "resources/subscribe";
    if (is_subscribe && asked.uri == kUris[2]) {
      return process_.say(R"({"jsonrpc":"2.0","id":)" + asked.id +
                          R"(,"error":{"code":1,"message":"no"}})");
    }
    if (is_subscribe) holds.insert(asked.uri);
    if (asked.method == "resources/unsubscribe") holds.erase(asked.uri);
    if (answers) process_.answer(asked.id, "{}");
  }
  FakeChild& process() { return process_; }

  std::set<std::string> holds;

 private:
  FakeChild& process_;
  std::deque<std::string> inbox_;
};

// A session's client, with the subscriptions that it may expect to have.
class Subscriber {
 public:
  explicit Subscriber(BackendBench& bench) : client_(bench) {}

  void subscribe(const std::string& uri) {
    const std::string id = std::to_string(++last_id_);
    asked_[uri].insert(empty_result(id));
    client_.subscribe(uri, id);
  }
  void unsubscribe(const std::string& uri) {
    asked_.erase(uri);
    granted_.erase(uri);
    client_.unsubscribe(uri, std::to_string(++last_id_));
  }
  void close() { client_.close(); }

  // How often the client was told of the uri since the last take.
  size_t take(const std::string& uri) {
    size_t heard = 0;
    for (const std::string& text : client_.take()) {
      heard += text == updated(uri) ? 1 : 0;
      for (const auto& [asked, answers] : asked_) {
        if (answers.contains(text)) granted_.insert(asked);
      }
    }
    return heard;
  }
  [[nodiscard]] bool may_hear(const std::string& uri) const { return asked_.contains(uri); }
  [[nodiscard]] bool must_hear(const std::string& uri) const { return granted_.contains(uri); }

 private:
  SharedClient client_;
  int last_id_ = 0;
  std::map<std::string, std::set<std::string>> asked_;  // since the last unsubscribe
  std::set<std::string> granted_;
};

class History {
 public:
  explicit History(uint32_t seed) : random_(seed), bench_(options()) {
    for (size_t i = 0; i < bench_.launcher.launched(); ++i) children_.emplace_back(bench_.child(i));
    while (sessions_.size() < kSessions) {
      sessions_.push_back(std::make_unique<Subscriber>(bench_));
    }
  }

  void step() {
    const size_t what = below(100);
    auto& place = sessions_[below(kSessions)];
    Subscriber& session = *place;
    const std::string& uri = kUris[below(kUris.size())];
    if (what < 25) {
      session.subscribe(uri);
    } else if (what < 40) {
      session.unsubscribe(uri);
    } else if (what < 44) {
      session.close();
      place = std::make_unique<Subscriber>(bench_);
    } else if (what < 47) {
      bench_.send(alone_, R"({"jsonrpc":"2.0","id":1,"method":")" +
                              std::string(below(2) == 0 ? "ping" : "resources/unsubscribe") +
                              R"(","params":{"uri":")" + uri + R"("}})");
    } else if (what < 80) {
      work(running(), below(20) != 0);
    } else if (what < 92) {
      update(running());
    } else if (what < 94) {
      if (Subscribable* child = running(); child != nullptr) child->process().die(9);
    } else {
      advance(std::chrono::milliseconds(below(6000)));
    }
    keep_up();
  }

  // Lets everything be answered, and every child run again.
  void settle() {
    for (int round = 0; round < 100; ++round) {
      advance(std::chrono::seconds(1));
      for (Subscribable& child : children_) {
        while (child.process().running() && child.has_work()) {
          work(&child, true);
          keep_up();
        }
      }
    }
  }

  void expect_order() {
    for (const std::string& uri : kUris) {
      std::map<const Subscriber*, size_t> heard;
      for (Subscribable& child : children_) {
        if (!child.process().running() || !child.holds.contains(uri)) continue;
        child.process().say(updated(uri));
        size_t hearers = 0;
        for (const auto& session : sessions_) {
          const size_t count = session->take(uri);
          hearers += count;
          heard[session.get()] += count;
        }
        EXPECT_GT(hearers, 0U) << "a child holds " << uri << " for nobody";
      }
      for (const auto& session : sessions_) {
        EXPECT_LE(heard[session.get()], session->may_hear(uri) ? 1U : 0U) << uri;
        EXPECT_GE(heard[session.get()], session->must_hear(uri) ? 1U : 0U) << uri;
      }
    }
    EXPECT_EQ(bench_.status().in_flight, 0U);
  }

 private:
  static backend::BackendOptions options() {
    backend::BackendOptions options = shared_mcp_options(3);
    options.config.pool.max_in_flight = 3;
    return options;
  }

  size_t below(size_t end) { return random_() % end; }

  Subscribable* running() {
    Subscribable& child = children_[below(children_.size())];
    return child.process().running() ? &child : nullptr;
  }

  void work(Subscribable* child, bool answers) {
    if (child != nullptr && child->has_work()) child->work(answers);
  }

  void update(Subscribable* child) {
    if (child == nullptr || child->holds.empty()) return;
    for (const auto& session : sessions_) session->take({});
    const std::string& uri = *child->holds.begin();
    child->process().say(updated(uri));
    for (const auto& session : sessions_) {
      EXPECT_LE(session->take(uri), session->may_hear(uri) ? 1U : 0U) << uri;
    }
  }

  void advance(Duration duration) {
    bench_.advance(duration);
    keep_up();
  }

  // The immediate reactions of processes: they start, greet, and end when they are told to.
  void keep_up() {
    while (children_.size() < bench_.launcher.launched()) {
      children_.emplace_back(bench_.greet(children_.size()));
    }
    for (Subscribable& child : children_) {
      if (!child.process().running()) continue;
      child.receive();
      if (!child.process().ends().empty()) child.process().exit(0);
    }
  }

  std::mt19937 random_;
  SharedBench bench_;
  FakeClient alone_{bench_.callers};
  std::deque<Subscribable> children_;
  std::vector<std::unique_ptr<Subscriber>> sessions_;
};

TEST(McpSubscriptionsRandom, KeepTheirOrder) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int i = 0; i < 300; ++i) history.step();
    history.settle();
    history.expect_order();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace stdgate::test
