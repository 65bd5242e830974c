// Tickets: each is valid once, for ten seconds, for one path; and there is a limit.
#include "transports/auth/tickets.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/manual_clock.h"

namespace stdgate::auth {
namespace {

using std::chrono::seconds;

Identity ticket_holder(const std::string& name) {
  policy::Principal principal;
  principal.name = name;
  return {std::make_shared<const policy::Principal>(principal)};
}

class TicketsTest : public testing::Test {
 protected:
  void pass(Duration time) { clock_.set(clock_.now() + time); }

  test::ManualClock clock_;
  uint64_t drawn_ = 0;
  Tickets tickets_{clock_, [this](std::span<uint8_t> out) {
                     ++drawn_;
                     for (size_t i = 0; i < out.size(); ++i) {
                       out[i] = static_cast<uint8_t>(drawn_ >> (8 * (i % 8)));
                     }
                   }};
};

TEST_F(TicketsTest, AreGoodOnce) {
  const auto ticket = tickets_.issue(ticket_holder("ada"), "/a/ws");
  ASSERT_TRUE(ticket);
  EXPECT_EQ(ticket->size(), 32U);
  const auto found = tickets_.redeem(*ticket, "/a/ws");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->principal->name, "ada");
  EXPECT_TRUE(found->is_for_once);
  EXPECT_FALSE(tickets_.redeem(*ticket, "/a/ws"));
  EXPECT_EQ(tickets_.size(), 0U);
}

TEST_F(TicketsTest, AreGoodForTenSeconds) {
  const auto one = tickets_.issue(ticket_holder("ada"), "/a/ws");
  const auto two = tickets_.issue(ticket_holder("ada"), "/a/ws");
  pass(Tickets::kLife - Duration{1});
  EXPECT_TRUE(tickets_.redeem(*one, "/a/ws"));
  pass(Duration{1});
  EXPECT_FALSE(tickets_.redeem(*two, "/a/ws"));
  EXPECT_EQ(tickets_.size(), 0U);
}

TEST_F(TicketsTest, AreForOnePathAndGoneAfterAnotherOne) {
  const auto ticket = tickets_.issue(ticket_holder("ada"), "/a/ws");
  EXPECT_FALSE(tickets_.redeem(*ticket, "/b/ws"));
  EXPECT_FALSE(tickets_.redeem(*ticket, "/a/ws"));
  EXPECT_FALSE(tickets_.redeem("", "/a/ws"));
}

TEST_F(TicketsTest, DoNotOutliveTheCredential) {
  Identity identity = ticket_holder("ada");
  identity.expires = clock_.now() + seconds(2);
  const auto ticket = tickets_.issue(identity, "/a/ws");
  pass(seconds(2));
  EXPECT_FALSE(tickets_.redeem(*ticket, "/a/ws"));
}

TEST_F(TicketsTest, OfOneAreBounded) {
  std::string last;
  for (size_t i = 0; i < Tickets::kMaxOfOne; ++i) {
    last = tickets_.issue(ticket_holder("ada"), "/a/ws").value_or("");
    ASSERT_NE(last, "");
  }
  EXPECT_FALSE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
  EXPECT_TRUE(tickets_.issue(ticket_holder("bob"), "/a/ws")) << "others are not shut out";
  EXPECT_TRUE(tickets_.redeem(last, "/a/ws"));
  EXPECT_TRUE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
  EXPECT_FALSE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
  pass(Tickets::kLife);
  EXPECT_TRUE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
}

TEST_F(TicketsTest, OfAllAreBounded) {
  for (size_t i = 0; i < Tickets::kMaxTickets; ++i) {
    ASSERT_TRUE(tickets_.issue(ticket_holder(std::to_string(i)), "/a/ws"));
  }
  EXPECT_FALSE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
  tickets_.forget_all();
  EXPECT_TRUE(tickets_.issue(ticket_holder("ada"), "/a/ws"));
}

}  // namespace
}  // namespace stdgate::auth
