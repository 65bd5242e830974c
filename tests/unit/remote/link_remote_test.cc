// LinkRemote: when its client may be read again, and how its session ends.
#include "gateway/remote/link_remote.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "gateway/remote/http_remote.h"
#include "tests/support/fake_web.h"

namespace stdgate::remote {

namespace {

struct LinkState {
  LinkRemote* owner = nullptr;
  bool is_full = false;
};

class FakeLink final : public RemoteLink {
 public:
  explicit FakeLink(LinkState& state) : state_(state) {}
  void open(LinkRemote& owner, bool /*is_mcp*/) override { state_.owner = &owner; }
  void send(const ClientMessage& /*message*/) override {}
  [[nodiscard]] bool is_full() const override { return state_.is_full; }
  void pause() override {}
  void resume() override {}
  void close() override {}

 private:
  LinkState& state_;
};

class LinkRemoteRoom : public testing::Test {
 protected:
  void take(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      remote_.take(*test::RemoteWorld::message(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                                               R"(,"method":"m"})"));
    }
  }

  test::RemoteWorld world_;
  LinkState link_;
  LinkRemote remote_{"ws://x.example/ws", std::make_unique<FakeLink>(link_), world_.services()};
};

TEST_F(LinkRemoteRoom, OnceWhatWaitsForTheServerIsSent) {
  take(MessageQueue::kMaxMessages - 1);
  EXPECT_FALSE(remote_.is_full());
  take(1);
  EXPECT_TRUE(remote_.is_full());
  link_.owner->on_link_open();
  EXPECT_FALSE(remote_.is_full());
  EXPECT_EQ(world_.rooms, 1U);
}

TEST_F(LinkRemoteRoom, NotWhileTheLinkIsFull) {
  take(1);
  link_.owner->on_link_open();
  link_.is_full = true;
  EXPECT_TRUE(remote_.is_full());
  link_.owner->on_link_room();
  EXPECT_EQ(world_.rooms, 0U);
  link_.is_full = false;
  link_.owner->on_link_room();
  EXPECT_EQ(world_.rooms, 1U);
}

// The data that filled the link ended with it.
TEST_F(LinkRemoteRoom, OnceAFullLinkHasEnded) {
  take(1);
  link_.owner->on_link_open();
  link_.is_full = true;
  ASSERT_TRUE(remote_.is_full());
  link_.is_full = false;
  link_.owner->on_link_end({{Exit::lost, rpc::Fault::child_failed, "gone"}});
  EXPECT_FALSE(remote_.is_full());
  EXPECT_EQ(world_.rooms, 1U);
}

TEST_F(LinkRemoteRoom, OnceWhatWaitedHasExpired) {
  take(1);
  link_.owner->on_link_open();
  link_.owner->on_link_end({{Exit::lost, rpc::Fault::child_failed, "gone"}});
  world_.rooms = 0;
  take(MessageQueue::kMaxMessages);
  ASSERT_TRUE(remote_.is_full());
  world_.wait(std::chrono::minutes(10));
  EXPECT_FALSE(remote_.is_full());
  EXPECT_EQ(world_.rooms, 1U);
}

// Many servers never answer a cancelled call.
TEST_F(LinkRemoteRoom, ACancelledCallIsNotWaitedFor) {
  take(2);
  link_.owner->on_link_open();
  remote_.take(*test::RemoteWorld::message(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"));
  EXPECT_FALSE(remote_.is_answered());
  std::string answer = R"({"jsonrpc":"2.0","id":0,"result":1})";
  link_.owner->on_link_text(answer);
  EXPECT_TRUE(remote_.is_answered());
}

// The server judges whether that is allowed (envelope: lenient).
TEST(LinkRemoteVersion, ThatTheServerOmitsIsNotAdded) {
  test::RemoteWorld world;
  LinkState link;
  LinkRemote remote{"ws://x.example/ws", std::make_unique<FakeLink>(link), world.services()};
  remote.take(*test::RemoteWorld::message(R"({"jsonrpc":"2.0","id":1,"method":"m"})"));
  link.owner->on_link_open();
  std::string answer = R"({"id":1, "result":{}})";
  link.owner->on_link_text(answer);
  std::string notice = R"({"jsonrpc":"2.0","method":"n"})";
  link.owner->on_link_text(notice);
  EXPECT_EQ(world.told, (std::vector<std::string>{R"({"id":1, "result":{}})", notice}));
  EXPECT_TRUE(remote.is_answered());
}

}  // namespace

// How the program ends when the server has closed the link after the client's messages.

namespace {

constexpr const char* kLanguageServerBegins =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
constexpr const char* kMcpBegins =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})";
constexpr const char* kAgentBegins =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}})";
constexpr const char* kExits = R"({"jsonrpc":"2.0","method":"exit"})";
constexpr const char* kServersAnswer = R"({"jsonrpc":"2.0","id":1,"result":{}})";

TEST(LinkRemoteEnd, Table) {
  struct Case {
    const char* name;
    const char* first;
    bool is_answered;
    bool is_finished;
    std::optional<Exit> left;
    size_t lines;  // for people
  };
  const Case cases[] = {
      {"a language server", kLanguageServerBegins, true, true, Exit::clean, 0},
      {"an agent", kAgentBegins, true, true, Exit::clean, 0},
      {"another server, which begins again", kExits, true, true, std::nullopt, 1},
      {"an open call", kLanguageServerBegins, false, true, Exit::lost, 1},
      {"a language server that fails", kLanguageServerBegins, true, false, Exit::lost, 1},
      {"an agent that fails", kAgentBegins, true, false, Exit::lost, 1},
      {"another server that fails", kExits, true, false, std::nullopt, 1},
      {"MCP, which begins again", kMcpBegins, true, true, std::nullopt, 1},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    test::RemoteWorld world;
    LinkState link;
    LinkRemote remote{"ws://x.example/ws", std::make_unique<FakeLink>(link), world.services()};
    remote.take(*test::RemoteWorld::message(one.first));
    link.owner->on_link_open();
    std::string answer = kServersAnswer;
    if (one.is_answered) link.owner->on_link_text(answer);
    link.owner->on_link_end({.problem = {Exit::lost, rpc::Fault::child_failed, "closed"},
                             .is_finished = one.is_finished});
    EXPECT_EQ(world.left, one.left);
    EXPECT_EQ(world.lines.size(), one.lines);
  }
}

}  // namespace

// The allowed places of an endpoint of MCP's older transport.

namespace {

TEST(SameOriginUrl, Table) {
  struct Case {
    const char* reference;
    const char* url;
  };
  const Case cases[] = {
      {"/messages?id=1", "https://a.example:8/messages?id=1"},
      {"messages", "https://a.example:8/x/messages"},
      {"?id=1", "https://a.example:8/x/sse?id=1"},
      {"https://a.example:8/m", "https://a.example:8/m"},
      {"https://a.example/m", ""},
      {"http://a.example:8/m", ""},
      {"https://a.example:8@evil/m", ""},
      {"//evil/m", ""},
      {"\\\\evil\\m", ""},
      {"javascript:alert(1)", ""},
      {"file:///etc/passwd", ""},
      {"/a b", ""},
      {"", ""},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(same_origin_url("https://a.example:8/x/sse?q=/y", one.reference), one.url)
        << one.reference;
  }
}

}  // namespace

}  // namespace stdgate::remote
