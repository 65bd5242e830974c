// How many callers there may be, and what is said when all of their places are taken; and the
// places themselves.
#include <gtest/gtest.h>

#include "gateway/app/clients.h"

namespace stdgate {
namespace {

class NoSink final : public session::ReplySink {
 public:
  void on_reply(session::Tag, const session::Reply&) override {}
  void on_event(session::Tag, std::string_view) override {}
  void on_cancelled(session::Tag) override {}
};

TEST(ClientPlaces, AreEnoughForAllConnectionsAndSessions) {
  config::Config config;
  config.limits.connections = 100;
  EXPECT_EQ(app::client_places(config), 116U);
  config::BackendConfig& backend = config.backends.emplace_back();
  backend.pool.sessions = 5;
  backend.protocol = config::Protocol::lsp;
  EXPECT_EQ(app::client_places(config), 116U) << "each of its sessions is a connection";
  backend.protocol = config::Protocol::mcp;
  EXPECT_EQ(app::client_places(config), 116U + 4 * 5);
}

TEST(ClientPlaces, OnlyWhenNoneIsFreeIsNobodyServed) {
  session::Callers callers(2);
  NoSink sink;
  session::CallerSlot first;
  ASSERT_TRUE(first.take(callers, sink));
  EXPECT_EQ(app::why_no_client(callers), "");
  session::CallerSlot second;
  ASSERT_TRUE(second.take(callers, sink));
  EXPECT_EQ(app::why_no_client(callers),
            "all 2 places of clients are taken; raise limits.connections");
  first.release();
  EXPECT_EQ(app::why_no_client(callers), "");
}

TEST(ClientPlaces, ASlotGivesItsPlaceBackOnce) {
  session::Callers callers(1);
  NoSink sink;
  {
    session::CallerSlot slot;
    EXPECT_TRUE(slot.is_none());
    ASSERT_TRUE(slot.take(callers, sink));
    EXPECT_EQ(callers.find(slot.caller()), &sink);
    session::CallerSlot other;
    EXPECT_FALSE(other.take(callers, sink)) << "the table is full";
    EXPECT_TRUE(other.is_none());
    other.release();
    EXPECT_EQ(callers.size(), 1U);
  }
  EXPECT_EQ(callers.size(), 0U);
  session::CallerSlot slot;
  ASSERT_TRUE(slot.take(callers, sink));
  slot.release();
  slot.release();
  EXPECT_EQ(callers.size(), 0U);
}

// The gateway's own calls have a caller that is no client.
TEST(ClientPlaces, TheGatewayNeedsNone) {
  session::Callers callers(1);
  EXPECT_FALSE(session::Callers::kGateway.is_none());
  EXPECT_EQ(callers.find(session::Callers::kGateway), nullptr);
}

}  // namespace
}  // namespace stdgate
