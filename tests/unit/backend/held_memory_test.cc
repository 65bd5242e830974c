// Memory that a backend holds for its clients is charged to them, and a client that holds too much
// is refused.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

using testing::IsEmpty;

class HeldMemory : public testing::Test {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
    options.config.pool.min = options.config.pool.max = 1;
    options.config.pool.max_in_flight = 1;
    return options;
  }
  // Charges `bytes` to the client.
  Share fill(const AccountRef& client, size_t bytes) {
    Share share({client.get(), &bench_.accounts.unrouted()}, Holding::receiving);
    share.set(bytes);
    return share;
  }
  [[nodiscard]] size_t held(Holding kind) const {
    return bench_.accounts.held_at(0).of[static_cast<size_t>(kind)];
  }
  [[nodiscard]] size_t bound() const { return bench_.accounts.bounds().client; }

  void answer_all() {
    for (const std::string& id : child_.take_ids()) child_.answer(id);
  }

  BackendBench bench_{options()};
  FakeClient client_{bench_.callers};
  FakeChild& child_ = bench_.start_child();
};

TEST_F(HeldMemory, ACallIsChargedWhileItWaits) {
  bench_.call(client_, "1");
  EXPECT_EQ(held(Holding::calls), 0U);
  bench_.call(client_, "2");
  EXPECT_GT(held(Holding::calls), sizeof(call::Call));
  EXPECT_EQ(bench_.account->used(), held(Holding::calls));
  answer_all();
  EXPECT_EQ(held(Holding::calls), 0U);
  answer_all();
  EXPECT_EQ(bench_.accounts.held_for_clients(), 0U);
}

TEST_F(HeldMemory, ANotificationToo) {
  bench_.call(client_, "1");
  bench_.send(client_, R"({"jsonrpc":"2.0","method":"n"})");
  EXPECT_GT(held(Holding::calls), 0U);
  answer_all();
  EXPECT_EQ(held(Holding::calls), 0U);
}

TEST_F(HeldMemory, WhatIsWithdrawnIsNotHeld) {
  bench_.call(client_, "1");
  bench_.call(client_, "2");
  bench_.leave(client_);
  EXPECT_EQ(bench_.accounts.held_for_clients(), 0U);
}

TEST_F(HeldMemory, WhoHoldsTooMuchIsToldWhichKeyItIs) {
  {
    const Share at_bound = fill(bench_.account, bound());
    bench_.call(client_, "1");
    EXPECT_THAT(client_.answers, IsEmpty());
  }
  answer_all();
  client_.answers.clear();
  const Share beyond = fill(bench_.account, bound() + 1);
  bench_.call(client_, "2");
  ASSERT_THAT(client_.answers, SizeIs(1));
  EXPECT_EQ(client_.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_THAT(client_.answers[0].text, HasSubstr("(limits.buffered_per_client)"));
  EXPECT_EQ(bench_.send(client_, R"({"jsonrpc":"2.0","method":"n"})"),
            backend::Admission::refused_overloaded);
  EXPECT_EQ(bench_.observer.rejected[Rejection::memory], 2);
}

// All other clients continue.
TEST_F(HeldMemory, WhereMuchIsHeldTheLargestAreRefused) {
  std::vector<Share> others;
  for (const char* address : {"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
    others.push_back(
        fill(bench_.accounts.of({nullptr, *ClientAddress::parse(address)}), bound() - 1));
  }
  const Share own = fill(bench_.account, bound() / 2);
  bench_.call(client_, "1");
  EXPECT_THAT(client_.answers, IsEmpty());
  others.push_back(
      fill(bench_.accounts.of({nullptr, *ClientAddress::parse("192.0.2.4")}), bound() / 2));
  bench_.call(client_, "2");
  ASSERT_THAT(client_.answers, SizeIs(1));
  EXPECT_THAT(client_.answers[0].text, HasSubstr("(limits.buffered)"));
}

TEST_F(HeldMemory, ASessionIsChargedUntilItsEnd) {
  FakeSession session(bench_.callers);
  EXPECT_FALSE(bench_.open(session).has_value());
  EXPECT_GE(held(Holding::sessions), sizeof(session::Session));
  bench_.close(session);
  EXPECT_EQ(bench_.accounts.held_for_clients(), 0U);
}

TEST_F(HeldMemory, WhoHoldsTooMuchOpensNoSession) {
  const Share beyond = fill(bench_.account, bound() + 1);
  FakeSession session(bench_.callers);
  const auto refused = bench_.open(session);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->fault, rpc::Fault::overloaded);
  EXPECT_THAT(refused->message, HasSubstr("limits.buffered_per_client"));
}

// Memory that is held for no single client is not charged to a client or to another backend.
TEST_F(HeldMemory, ABackendThatHoldsTooMuchTakesNothing) {
  const Payer own = bench_.services.payer_of(0);
  Share broadcasts(own, Holding::unsent);
  broadcasts.set(own.account->bound() + 1);
  bench_.call(client_, "1");
  ASSERT_THAT(client_.answers, SizeIs(1));
  EXPECT_THAT(client_.answers[0].text, HasSubstr("short of memory"));
}

// An answer cannot be refused before it arrives, but a part of it can be given up.
TEST_F(HeldMemory, AnAnswerThatComesIsChargedToTheBackend) {
  bench_.call(client_, "1");
  const std::string begin =
      R"({"jsonrpc":"2.0","id":)" + child_.take_ids().at(0) + R"(,"result":")";
  child_.output(begin + std::string(2 * pool::ChildOutput::kSmallMessage, 'x'));
  EXPECT_GE(held(Holding::receiving), 2 * pool::ChildOutput::kSmallMessage);
  EXPECT_EQ(bench_.accounts.held_for_clients(), 0U);
  const Payer own = bench_.services.payer_of(0);
  Share broadcasts(own, Holding::unsent);
  broadcasts.set(own.account->bound());
  child_.output("x");
  EXPECT_EQ(held(Holding::receiving), 0U);
  broadcasts.set(0);
  child_.output("\"}\n");
  ASSERT_THAT(client_.answers, SizeIs(1));
  EXPECT_EQ(client_.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_THAT(client_.answers[0].text, HasSubstr("limits.buffered"));
  bench_.call(client_, "2");
  child_.answer(child_.take_ids().at(0));
  EXPECT_THAT(client_.answers, SizeIs(2));
}

}  // namespace
}  // namespace stdgate::test
