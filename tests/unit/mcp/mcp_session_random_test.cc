// Random histories of MCP sessions. There are calls, and messages of the child. Responses break
// off, even in the middle of a write. Clients come back, or read too slowly.
//
// The laws: each message arrives exactly once, on its own stream, with ascending ids. At the end no
// child is held.

#include <deque>
#include <map>
#include <random>
#include <set>

#include "tests/unit/mcp/mcp_world.h"

namespace stdgate::test {
namespace {

// One stream as its client sees it, over all its responses. The client comes back after a break.
struct Stream {
  std::deque<FakeEventSink> responses;  // the last one may be open
  size_t events_read = 0;               // of the last response
  std::string last_id;
  std::vector<std::string> heard;
  [[nodiscard]] bool is_open() const { return !responses.empty() && !responses.back().over; }
};

class Client {
 public:
  explicit Client(uint32_t seed) : random_(seed) { world_.greet("2025-11-25"); }
  ~Client() { world_.sessions.close_all(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void live(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (auto& [call, wire_id] : under_way_) answer(call, wire_id);
    under_way_.clear();
    may_leave_ = false;
    for (auto& [name, stream] : streams_) come_back(name, stream);
    listen();
    for (auto& [name, stream] : streams_) read(name, stream);
  }

  void expect_all_heard() {
    std::multiset<std::string> others;
    for (auto& [name, stream] : streams_) {
      for (const std::string& text : stream.heard) {
        if (said_to_[name].erase(text) == 0) others.insert(text);
      }
    }
    for (const auto& [name, said] : said_to_) {
      for (const std::string& text : said) ADD_FAILURE() << name << " has not heard " << text;
    }
    EXPECT_EQ(others, said_to_anybody_);
    world_.bench.settle();
    EXPECT_TRUE(world_.child().is_read());
    EXPECT_EQ(world_.bench.backend.calls(), 0U);
  }

 private:
  static constexpr const char* kGet = "get";

  uint32_t any(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  void step() {
    world_.session->check_invariants();
    world_.bench.backend.check_invariants();
    world_.bench.advance(std::chrono::milliseconds(any(300)));
    switch (any(9)) {
      case 0:
        return call();
      case 1:
        return under_way_.empty() ? listen() : finish_some();
      case 2:
        return listen();
      case 3:
      case 4:
        return for_some(&Client::break_off);
      case 5:
        return for_some(&Client::come_back);
      case 6:
        return for_some(&Client::change_pressure);
      default:
        return say();
    }
  }

  FakeEventSink& new_response(Stream& stream) {
    stream.events_read = 0;
    FakeEventSink& sink = stream.responses.emplace_back();
    // Now and then the client leaves in the middle of a response, if it already has an event's id
    // to come back with.
    if (may_leave_ && any(4) == 0) {
      sink.during = [this, &sink, left = 1 + any(4)]() mutable {
        if (sink.over || sink.events.empty() || --left > 0) return;
        world_.leave(sink);
      };
    }
    return sink;
  }

  void call() {
    if (under_way_.size() >= 5) return;
    const std::string name = std::to_string(++last_call_);
    world_.post(new_response(streams_[name]), tool_call(name, name));
    for (std::string& wire_id : world_.child().take_ids()) under_way_[name] = std::move(wire_id);
  }

  void finish_some() {
    auto found = std::next(under_way_.begin(), any(static_cast<uint32_t>(under_way_.size())));
    answer(found->first, found->second);
    under_way_.erase(found);
  }

  void answer(const std::string& call, const std::string& wire_id) {
    said_to_[call].insert(result_text(call));
    world_.child().answer(wire_id);
    Stream& stream = streams_[call];
    if (stream.responses.back().json) stream.heard.push_back(*stream.responses.back().json);
  }

  void say() {
    if (!world_.child().is_read()) return;
    if (!under_way_.empty() && any(2) == 0) {
      const auto& call =
          std::next(under_way_.begin(), any(static_cast<uint32_t>(under_way_.size())))->first;
      const std::string text = progress(call, ++said_);
      said_to_[call].insert(text);
      return world_.child().say(text);
    }
    const std::string text = note_text("n", "[" + std::to_string(++said_) + "]");
    said_to_anybody_.insert(text);
    world_.child().say(text);
  }

  void listen() {
    Stream& stream = streams_[kGet];
    read(kGet, stream);
    world_.listen(new_response(stream));
  }

  void for_some(void (Client::*what)(const std::string&, Stream&)) {
    if (streams_.empty()) return;
    auto& [name, stream] =
        *std::next(streams_.begin(), any(static_cast<uint32_t>(streams_.size())));
    (this->*what)(name, stream);
  }

  void break_off(const std::string& name, Stream& stream) {
    if (!stream.is_open()) return;
    read(name, stream);
    if (!stream.last_id.empty()) world_.leave(stream.responses.back());
  }

  // The client may also come back while the former response is still open.
  void come_back(const std::string& name, Stream& stream) {
    read(name, stream);
    if (stream.last_id.empty()) return;
    const auto resumed = world_.session->resume(new_response(stream), stream.last_id);
    if (resumed == mcp::McpSession::Resumed::over) {
      stream.responses.back().ended = true;  // the caller would answer 405
    } else {
      EXPECT_EQ(resumed, mcp::McpSession::Resumed::yes) << name;
    }
  }

  void change_pressure(const std::string& /*name*/, Stream& stream) {
    if (!stream.is_open()) return;
    if (stream.responses.back().backed_up) {
      world_.make_room(stream.responses.back());
    } else {
      stream.responses.back().backed_up = true;
    }
  }

  void read(const std::string& name, Stream& stream) {
    if (stream.responses.empty()) return;
    const auto& events = stream.responses.back().events;
    for (; stream.events_read < events.size(); ++stream.events_read) {
      const FakeEventSink::Event& event = events[stream.events_read];
      EXPECT_TRUE(ids_.insert(event.id).second) << event.id << " a second time";
      const auto number_in = [](const std::string& id) {
        return id.empty() ? 0 : std::stoull(id.substr(id.rfind('-') + 1));
      };
      EXPECT_GT(number_in(event.id), number_in(stream.last_id)) << name;
      stream.last_id = event.id;
      if (!event.data.empty()) stream.heard.push_back(event.data);
    }
  }

  std::mt19937 random_;
  std::map<std::string, Stream> streams_;         // of calls, by id, and of the GET
  std::map<std::string, std::string> under_way_;  // wire ids of the calls
  std::map<std::string, std::set<std::string>> said_to_;
  std::multiset<std::string> said_to_anybody_;
  std::set<std::string> ids_;
  bool may_leave_ = true;
  int last_call_ = 0;
  int said_ = 0;
  McpWorld world_;
};

TEST(McpSessionRandom, EachMessageIsHeardOnceWhereItBelongs) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Client client(seed);
    client.live(150);
    client.expect_all_heard();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace stdgate::test
