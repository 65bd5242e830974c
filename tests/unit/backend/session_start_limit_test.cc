// How often a client may open a session that takes a child.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

const ClientAddress kClient = ClientAddress::unix_user(1);
const ClientAddress kOther = ClientAddress::unix_user(2);

TEST(SessionStartLimit, ABurstAndNotOneMore) {
  BackendBench bench(session_options(100));
  bench.limit_session_starts(2, 5);
  std::vector<std::unique_ptr<FakeSession>> sessions;
  const auto open = [&](const ClientAddress& client) {
    sessions.push_back(std::make_unique<FakeSession>(bench.callers));
    return bench.open(*sessions.back(), client);
  };
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(open(kClient));
  const auto refused = open(kClient);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->fault, rpc::Fault::rate_limited);
  EXPECT_EQ(refused->retry_after, milliseconds(500));
  EXPECT_EQ(bench.launcher.launched(), 5U);
  EXPECT_FALSE(open(kOther));
  EXPECT_FALSE(open({}));
  bench.advance(milliseconds(500));
  EXPECT_FALSE(open(kClient));
  EXPECT_TRUE(open(kClient));
}

TEST(SessionStartLimit, ClosingASessionGivesNothingBack) {
  BackendBench bench(session_options(10));
  bench.limit_session_starts(1, 3);
  size_t refused = 0;
  for (int i = 0; i < 100; ++i) {
    FakeSession session(bench.callers);
    if (bench.open(session, kClient)) {
      ++refused;
    } else {
      bench.close(session);
    }
  }
  EXPECT_EQ(refused, 97U);
  EXPECT_LE(bench.launcher.launched(), 3U);
}

TEST(SessionStartLimit, WhatIsRefusedForOtherReasonsIsNotCounted) {
  backend::BackendOptions options = session_options(1);
  BackendBench bench(std::move(options));
  bench.limit_session_starts(1, 2);
  FakeSession first(bench.callers);
  EXPECT_FALSE(bench.open(first, kClient));
  for (int i = 0; i < 10; ++i) {
    FakeSession session(bench.callers);
    const auto refused = bench.open(session, kClient);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->fault, rpc::Fault::overloaded);
  }
}

TEST(SessionStartLimit, SessionsThatShareChildrenAreNotLimited) {
  BackendBench bench(plain_options());
  bench.limit_session_starts(1, 1);
  for (int i = 0; i < 20; ++i) {
    FakeSession session(bench.callers);
    EXPECT_FALSE(bench.open(session, kClient));
    bench.close(session);
  }
}

}  // namespace
}  // namespace stdgate::test
