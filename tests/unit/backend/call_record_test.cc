// The records of calls that observers receive: when a call arrived, how long it waited and for
// what, and its trace.

#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

// Shows a thousand hours more than the core's clock.
struct AheadClock final : WallClock {
  [[nodiscard]] WallTime at(TimePoint time) const override {
    return WallTime(time.time_since_epoch() + hours(1000));
  }
};

// Keeps the members of the last record that are no texts.
struct LastRecord final : Observer {
  void on_call_finished(const CallRecord& call) override {
    record = call;
    trace = call.trace == nullptr ? TraceContext() : *call.trace;
  }
  CallRecord record;
  TraceContext trace;
};

struct CallRecords : testing::Test {
  CallRecords() {
    backend.start();
    launcher.child(0).start();
  }
  static backend::BackendOptions one_call_at_a_time() {
    backend::BackendOptions options = plain_options();
    options.config.pool.min = options.config.pool.max = options.config.pool.max_in_flight = 1;
    return options;
  }
  void call(const TraceContext* trace = nullptr) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    call::CallContext context;
    context.caller = client.caller();
    context.trace = trace;
    context.arrived = clock.now();
    backend.accept(parser.parse(text).value().messages[0], context);
  }
  void answer() { launcher.child(0).answer(launcher.child(0).take_ids().at(0)); }
  void pass(Duration duration) { clock.set(clock.now() + duration); }

  ManualClock clock;
  AheadClock wall_clock;
  TimerQueue timers;
  RecordingLog log;
  LastRecord observer;
  FakeLauncher launcher;
  Random random{7};
  StoragePool storages;
  session::Callers callers{10};
  pool::CoreServices services{clock,  timers,   log,     observer,   launcher,
                              random, storages, nullptr, &wall_clock};
  backend::Backend backend{BackendId{0}, one_call_at_a_time(),
                           std::make_unique<pool::JsonRpcDialect>(""), callers, services};
  FakeClient client{callers};
};

TEST_F(CallRecords, SayWhenItCameAndForWhomItWaited) {
  const TimePoint begin = clock.now();
  call();
  pass(milliseconds(2));
  call();
  pass(milliseconds(3));
  answer();
  EXPECT_EQ(observer.record.arrived_at, WallTime(begin.time_since_epoch() + hours(1000)));
  EXPECT_EQ(observer.record.queued, milliseconds(0));
  EXPECT_EQ(observer.record.child, milliseconds(5));
  pass(milliseconds(4));
  answer();
  EXPECT_EQ(observer.record.arrived_at,
            WallTime(begin.time_since_epoch() + milliseconds(2) + hours(1000)));
  EXPECT_EQ(observer.record.queued, milliseconds(3));
  EXPECT_EQ(observer.record.child, milliseconds(4));
  EXPECT_EQ(observer.record.total, milliseconds(7));
}

TEST_F(CallRecords, NameTheCallersTraceAndNobodyElses) {
  TraceContext trace;
  ASSERT_TRUE(trace.read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  trace.add_state("congo=t61rcWkgMzE");
  const TraceContext sent = trace;
  call(&trace);
  trace.clear();  // the caller's text is needed only during accept()
  answer();
  EXPECT_EQ(observer.trace, sent);
  call();
  answer();
  EXPECT_EQ(observer.record.trace, nullptr);
}

}  // namespace
}  // namespace stdgate::test
