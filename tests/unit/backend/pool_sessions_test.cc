// What a pool tells the owner of the sessions (SessionEvents), by a pool without a backend. The
// part of a session that a bridge keeps (BridgedPart), by a backend whose bridge does nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/backend/bridge_parts.h"
#include "gateway/backend/session_router.h"
#include "gateway/pool/bridge.h"
#include "gateway/pool/dialect.h"
#include "gateway/pool/pool.h"
#include "gateway/session/session.h"
#include "tests/support/backend_bench.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// An owner of sessions that writes down what it is told.
class RecordingSessions final : public pool::SessionEvents {
 public:
  void on_reading(session::SessionId session, bool reading) override {
    note(session, reading ? "reads" : "pauses");
  }
  void on_session_served(session::SessionId session, pool::Child& child) override {
    note(session, "served by " + std::to_string(child.number()));
  }
  void on_session_parked(session::SessionId session, ParkReason /*reason*/) override {
    note(session, "parked");
  }
  void on_session_waking(session::SessionId session) override { note(session, "waking"); }
  void on_session_begun(session::SessionId session) override { note(session, "begun"); }
  void on_session_revived(session::SessionId session, RevivalOutcome /*outcome*/,
                          Duration /*since_request*/,
                          std::span<const std::string_view> /*notices*/) override {
    note(session, "revived");
  }
  [[nodiscard]] session::ClientHold hold_of(session::SessionId /*session*/) const override {
    return session::ClientHold::connection;
  }
  [[nodiscard]] bool holds_calls(session::SessionId /*session*/) const override { return false; }
  [[nodiscard]] bool awaits_answer(uint64_t /*child*/,
                                   session::SessionId /*session*/) const override {
    return awaits;
  }
  void on_session_end(session::SessionId session, session::SessionEnd /*end*/,
                      std::string_view message) override {
    note(session, "ended: " + std::string(message));
  }

  void forget() { events_.clear(); }
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(events_, {}); }

  bool awaits = false;  // a client has not answered its child yet

 private:
  void note(session::SessionId session, const std::string& what) {
    events_.push_back(std::to_string(session.index) + " " + what);
  }

  std::vector<std::string> events_;
};

// Children have nothing to say here.
class NoListener final : public pool::ChildListener {
 public:
  void on_event(const call::Call& /*call*/, const rpc::Envelope& /*notification*/,
                TextPlace /*progress_token*/) override {}
  void on_notification(pool::Child& /*child*/, const rpc::Envelope& /*notification*/,
                       std::string_view /*method*/) override {}
  void on_request(pool::Child& /*child*/, const rpc::Envelope& /*request*/,
                  std::string_view /*method*/) override {}
  [[nodiscard]] bool admits(const call::Call& /*call*/, uint64_t /*child*/) override {
    return true;
  }
  void on_spare_room(pool::Child& /*child*/) override {}
  void on_child_gone(const pool::Child& /*child*/) override {}
  [[nodiscard]] TimePoint needed_until(uint64_t /*child*/) const override { return kNotNeeded; }
  [[nodiscard]] TimePoint works_until(uint64_t /*child*/) const override { return kNotNeeded; }
};

class PoolSessions : public testing::Test {
 protected:
  explicit PoolSessions(uint32_t max_children = 2) : options_(session_options(max_children)) {
    options_.config.pool.queue = 4;
    chain_.add("pool", end_);
    pool_.start();
  }

  // Sends a request of the session with this id.
  void call(session::SessionId session, const std::string& id) {
    const ParsedText text(request_text(id));
    call::CallContext context;
    context.caller = client_.caller();
    context.session = session;
    context.arrived = clock_.now();
    call::CallPtr call = chain_.begin(id, {context, &text.envelope, "m"});
    chain_.pass(std::move(call), {text.envelope, "m", call::ClientIntent(), context});
  }
  void settle() {
    clock_.set(clock_.now() + std::chrono::milliseconds(1));
    timers_.run_due(clock_.now());
  }
  FakeChild& child(size_t index) { return launcher_.child(index); }

  static constexpr session::SessionId kOne{1, 1};
  static constexpr session::SessionId kTwo{2, 1};

  backend::BackendOptions options_;
  ManualClock clock_;
  TimerQueue timers_;
  RecordingLog log_;
  RecordingObserver observer_;
  FakeLauncher launcher_;
  Random random_{7};
  StoragePool storages_;
  session::Callers callers_{10};
  FakeClient client_{callers_};
  const pool::CoreServices core_{clock_, timers_, log_, observer_, launcher_, random_, storages_};
  const pool::JsonRpcDialect dialect_{"$/cancelRequest"};
  call::CallStore calls_{1, 2};
  const bool logs_messages_ = false;
  call::Chain chain_{{clock_, nullptr, observer_, callers_, dialect_, calls_, 0, options_.config,
                      log_, logs_messages_, &timers_, nullptr}};
  const pool::PoolServices services_{core_,           0,        options_.config, options_.limits,
                                     options_.launch, dialect_, calls_,          chain_};
  pool::Bridge bridge_;
  RecordingSessions sessions_;
  NoListener listener_;
  pool::Pool pool_{services_, bridge_, sessions_, listener_};

 private:
  // The end of the chain, which gives calls to the pool.
  class End final : public call::Filter {
   public:
    explicit End(PoolSessions& test) : test_(test) {}
    void on_request(call::CallPtr& call, const call::Request& request) override {
      test_.calls_.index().add(*call);
      test_.pool_.send(std::move(call), call::Outgoing(request.message));
    }

   private:
    PoolSessions& test_;
  };
  End end_{*this};
};

TEST_F(PoolSessions, ASessionIsServedByTheChildThatIsStartedForIt) {
  ASSERT_TRUE(pool_.lane().open(kOne));
  ASSERT_TRUE(pool_.lane().open(kTwo));
  EXPECT_THAT(sessions_.take(),
              ElementsAre("1 served by 1", "1 begun", "2 served by 2", "2 begun"));
}

TEST_F(PoolSessions, TheQueueOfASessionPausesAtHalfAndGoesOnAtAQuarter) {
  ASSERT_TRUE(pool_.lane().open(kOne));
  sessions_.forget();
  call(kOne, "1");
  EXPECT_THAT(sessions_.take(), IsEmpty());
  call(kOne, "2");
  EXPECT_THAT(sessions_.take(), ElementsAre("1 pauses"));
  child(0).start();
  EXPECT_THAT(sessions_.take(), ElementsAre("1 reads"));
  EXPECT_EQ(child(0).take_ids().size(), 2U);
}

TEST_F(PoolSessions, ASessionEndsWithAChildThatItCannotDoWithout) {
  ASSERT_TRUE(pool_.lane().open(kOne));
  child(0).start();
  call(kOne, "1");
  sessions_.forget();
  child(0).die(9);
  settle();
  const auto events = sessions_.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(events[0], testing::StartsWith("1 ended: "));
  EXPECT_EQ(client_.answers.size(), 1U) << "the call ends before the session";
  EXPECT_EQ(client_.answers[0].fault, rpc::Fault::child_failed);
}

class PoolWithOnePlace : public PoolSessions {
 protected:
  PoolWithOnePlace() : PoolSessions(1) {}
};

TEST_F(PoolWithOnePlace, ThePlaceIsFreeWhenTheChildOfAClosedSessionHasGone) {
  ASSERT_TRUE(pool_.lane().open(kOne));
  child(0).start();
  EXPECT_FALSE(pool_.lane().open(kTwo));
  EXPECT_THAT(pool_.lane().close(kOne), IsEmpty());
  child(0).exit(0);
  settle();
  sessions_.forget();
  ASSERT_TRUE(pool_.lane().open(kTwo));
  EXPECT_THAT(sessions_.take(), ElementsAre("2 served by 2", "2 begun"));
}

TEST_F(PoolSessions, ASessionIsNotParkedWhileItsClientOwesAnAnswer) {
  pool_.lane().adopt(kOne, {.greeting = "{}"});
  EXPECT_TRUE(pool_.lane().is_parked(kOne));
  call(kOne, "1");
  EXPECT_THAT(sessions_.take(), ElementsAre("1 waking", "1 served by 1"));
  child(0).start();
  sessions_.awaits = true;
  EXPECT_NE(pool_.lane().park(kOne), session::Parking::parked);
}

// --- The part of a session that a bridge keeps

class KeptPart final : public session::BridgedPart {
 public:
  KeptPart(session::Caller caller, int& gone) : caller_(caller), gone_(gone) {}
  ~KeptPart() override { ++gone_; }
  KeptPart(const KeptPart&) = delete;
  KeptPart& operator=(const KeptPart&) = delete;

  [[nodiscard]] session::Caller caller() const override { return caller_; }
  [[nodiscard]] std::vector<std::string> subscriptions() const override { return {}; }
  void stop_listening() override {}
  [[nodiscard]] size_t bytes() const override { return 100'000; }

 private:
  const session::Caller caller_;
  int& gone_;
};

// A protocol whose bridge does nothing, and tells the test which sessions there are.
class OpenDialect final : public pool::Dialect {
 public:
  explicit OpenDialect(backend::SessionRouter*& sessions) : sessions_(sessions) {}

  [[nodiscard]] rpc::CodeSet codes() const override { return rpc::CodeSet::plain; }
  [[nodiscard]] tl::expected<call::ClientIntent, const char*> read_client(
      const rpc::Envelope& /*message*/, std::string_view /*method*/,
      const call::Reading& /*reading*/) const override {
    return call::ClientIntent();
  }
  [[nodiscard]] std::string cancel(rpc::WireId id, pool::CancelReason /*reason*/) const override {
    return rpc::notification_text("cancel", std::to_string(id));
  }
  [[nodiscard]] std::shared_ptr<pool::Bridge> make_bridge(
      const backend::BridgeParts& parts) const override {
    sessions_ = &parts.sessions;
    return nullptr;
  }

 private:
  backend::SessionRouter*& sessions_;
};

TEST(BridgedPart, IsChargedWithItsSessionAndEndsWithItAndWithTheCallsThatItMade) {
  backend::SessionRouter* sessions = nullptr;
  BackendBench bench(plain_options(), std::make_unique<OpenDialect>(sessions));
  FakeClient listener(bench.callers);
  FakeSession session(bench.callers);
  ASSERT_FALSE(bench.open(session));
  const auto held = [&bench] { return bench.backend.held()->of[size_t(Holding::sessions)]; };
  const size_t before = held();
  int gone = 0;
  sessions->find(session.id)->bridged = std::make_unique<KeptPart>(listener.caller(), gone);
  sessions->charge(session.id);
  EXPECT_EQ(held(), before + 100'000);
  bench.call(listener, "1");
  EXPECT_EQ(bench.backend.calls(), 1U);
  bench.start_child().take_lines();
  bench.close(session);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(bench.backend.calls(), 0U);
  EXPECT_THAT(bench.child(0).take_line(), testing::HasSubstr(R"("cancel")"));
  EXPECT_THAT(listener.answers, IsEmpty());
}

}  // namespace
}  // namespace stdgate::test
