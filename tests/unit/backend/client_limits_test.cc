// calls_per_principal: the limits of one client at a backend, whatever other clients do.

#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

class ClientLimits : public testing::Test {
 protected:
  static backend::BackendOptions options(const config::ClientLimits& limits) {
    backend::BackendOptions options = plain_options();
    options.config.calls_per_principal = limits;
    return options;
  }
  void serve(const config::ClientLimits& limits) {
    bench_ = std::make_unique<BackendBench>(options(limits));
    client_ = std::make_unique<FakeClient>(bench_->callers);
  }
  // Sends a call of `who`, or of an anonymous client at `address`.
  void call(const std::string& id, const char* address, const policy::Principal* who = nullptr,
            const char* method = "m") {
    std::string text = request_text(id, method);
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const ClientAddress from = *ClientAddress::parse(address);
    call::CallContext context;
    context.caller = client_->caller();
    context.arrived = bench_->clock.now();
    context.client = &from;
    context.principal = who;
    bench_->backend.accept(parser.parse(text).value().messages[0], context);
  }
  // The faults of the answers since the last take.
  std::vector<std::optional<rpc::Fault>> take_faults() {
    std::vector<std::optional<rpc::Fault>> faults;
    for (const auto& answer : client_->answers) faults.push_back(answer.fault);
    client_->answers.clear();
    return faults;
  }

  std::unique_ptr<BackendBench> bench_;
  std::unique_ptr<FakeClient> client_;
};

constexpr const char* kHere = "192.0.2.1";
constexpr const char* kThere = "192.0.2.2";

TEST_F(ClientLimits, ARateIsForEachClient) {
  serve({.rate = {2, seconds(1)}, .burst = 2, .in_flight = 0, .sessions = 0});
  call("1", kHere);
  call("2", kHere);
  EXPECT_TRUE(take_faults().empty());
  call("3", kHere);
  ASSERT_THAT(client_->answers, SizeIs(1));
  EXPECT_EQ(client_->answers[0].retry_after, milliseconds(500));
  EXPECT_EQ(client_->answers[0].text, R"({"jsonrpc":"2.0","id":3,"error":{"code":-32006,)"
                                      R"("message":"too many calls of this client",)"
                                      R"("data":{"retryAfter":1}}})");
  EXPECT_THAT(take_faults(), ElementsAre(rpc::Fault::rate_limited));
  EXPECT_EQ(bench_->observer.rejected[Rejection::rate], 1);
  call("4", kThere);
  EXPECT_TRUE(take_faults().empty());
  bench_->advance(milliseconds(500));
  call("5", kHere);
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(ClientLimits, CallsUnderWayAreCountedToTheirEnd) {
  serve({.rate = {}, .burst = 0, .in_flight = 2, .sessions = 0});
  call("1", kHere);
  call("2", kHere);
  call("3", kHere);
  FakeChild& child = bench_->start_child();
  EXPECT_THAT(take_faults(), ElementsAre(rpc::Fault::rate_limited));
  EXPECT_EQ(bench_->observer.rejected[Rejection::in_flight], 1);
  child.answer(child.take_ids().at(0));
  EXPECT_THAT(take_faults(), ElementsAre(std::nullopt));
  call("4", kHere);
  EXPECT_TRUE(take_faults().empty());
  call("5", kHere);
  EXPECT_THAT(take_faults(), ElementsAre(rpc::Fault::rate_limited));
  child.die(9);
  bench_->settle();
  EXPECT_THAT(take_faults(), SizeIs(2));
  call("6", kHere);
  call("7", kHere);
  EXPECT_TRUE(take_faults().empty());
  bench_->backend.cancel_calls_of(client_->caller());
  call("8", kHere);
  call("9", kHere);
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(ClientLimits, APrincipalIsOneClientWhereverItIs) {
  serve({.rate = {}, .burst = 0, .in_flight = 1, .sessions = 0});
  policy::Principal somebody;
  somebody.name = "somebody";
  call("1", kHere, &somebody);
  call("2", kThere, &somebody);
  EXPECT_THAT(take_faults(), ElementsAre(rpc::Fault::rate_limited));
  call("3", kHere);
  EXPECT_TRUE(take_faults().empty());
}

// A call that rules deny counts, so that guessing names is as slow as using them.
TEST_F(ClientLimits, DeniedCallsCount) {
  backend::BackendOptions limited =
      options({.rate = {1, seconds(1)}, .burst = 2, .in_flight = 0, .sessions = 0});
  limited.config.methods = {"m"};
  bench_ = std::make_unique<BackendBench>(limited);
  client_ = std::make_unique<FakeClient>(bench_->callers);
  call("1", kHere, nullptr, "other");
  call("2", kHere, nullptr, "other");
  call("3", kHere);
  EXPECT_THAT(take_faults(), ElementsAre(std::nullopt, std::nullopt, rpc::Fault::rate_limited));
  EXPECT_EQ(bench_->observer.rejected[Rejection::denied], 2);
}

TEST(SessionsOfAClient, AreLimited) {
  backend::BackendOptions options = session_options(8);
  options.config.calls_per_principal.sessions = 2;
  BackendBench bench(options);
  const ClientAddress here = *ClientAddress::parse(kHere);
  FakeSession first(bench.callers);
  FakeSession second(bench.callers);
  FakeSession third(bench.callers);
  EXPECT_FALSE(bench.open(first, here));
  EXPECT_FALSE(bench.open(second, here));
  const auto refused = bench.open(third, here);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->fault, rpc::Fault::rate_limited);
  EXPECT_EQ(refused->retry_after, rpc::kRetryHint);
  EXPECT_EQ(bench.observer.rejected[Rejection::sessions], 1);
  EXPECT_FALSE(bench.open(third, *ClientAddress::parse(kThere)));
  bench.close(first);
  FakeSession fourth(bench.callers);
  EXPECT_FALSE(bench.open(fourth, here));
}

}  // namespace
}  // namespace stdgate::test
