// Lists and tables that grow with the input of peers. The size is the number of entries, and the
// number of messages.
#include <array>
#include <memory>
#include <string>

#include "gateway/base/slot_map.h"
#include "gateway/base/time.h"
#include "gateway/call/call_queue.h"
#include "gateway/call/call_store.h"
#include "gateway/mcp/mcp_sessions.h"
#include "gateway/policy/quotas.h"
#include "gateway/pool/call_table.h"
#include "gateway/rpc/correlator.h"
#include "gateway/session/batch_answer.h"
#include "gateway/session/replay_log.h"
#include "gateway/session/subscriptions.h"
#include "tests/cost/cost_case.h"
#include "transports/net/loop.h"
#include "transports/tls/handshakes.h"

namespace stdgate::test {

namespace {

// Counts `work(n)`, which keeps nothing.
template <class Work>
CostCase entries(const std::string& name, size_t size, Work&& work) {
  return {name, size, [work](size_t n) -> Step { return [work, n] { work(n); }; }};
}

ClientAddress client(size_t i) {
  const std::array<uint8_t, 4> bytes{10, static_cast<uint8_t>(i >> 16),
                                     static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
  return ClientAddress::ipv4(bytes);
}

TimePoint at(size_t second) { return TimePoint(std::chrono::seconds(second + 1)); }

session::SessionId session_of(size_t i) { return {static_cast<uint32_t>(i), 1}; }

// --- Calls ---------------------------------------------------------------------------------------

// Calls with ids that a client has chosen.
void index_calls(size_t n) {
  call::CallStore calls(1, 2);
  std::vector<call::CallPtr> taken;
  const session::Caller caller{1, 1};
  for (size_t i = 0; i < n; ++i) {
    taken.push_back(calls.take());
    taken.back()->id = std::to_string(i);
    taken.back()->caller = caller;
    taken.back()->place = call::CallPlace::in_flight;
    calls.index().add(*taken.back());
  }
  for (size_t i = 0; i < n; ++i) {
    must(calls.index().find(caller, std::to_string(i)) != nullptr, "find");
    must(calls.index().find(caller, "x" + std::to_string(i)) == nullptr, "find none");
  }
}

// Calls are cancelled from the end of the queue, while the first waits.
void queue_calls(size_t n) {
  config::PoolConfig config;
  config.queue = static_cast<uint32_t>(n);
  call::CallStore calls;
  call::CallQueue queue(config);
  std::vector<call::Call*> waiting;
  for (size_t i = 0; i < n; ++i) {
    call::CallPtr call = calls.take();
    waiting.push_back(call.get());
    call::Outgoing message;
    message.text = "x";
    queue.push(std::move(call), message);
  }
  for (size_t i = n - 1; i > 0; --i) must(queue.take(*waiting[i]) != nullptr, "take");
  must(queue.size() == 1, "one is left");
}

void expire_calls(size_t n) {
  call::CallStore calls;
  std::vector<call::CallPtr> taken;
  for (size_t i = 0; i < n; ++i) {
    taken.push_back(calls.take());
    taken.back()->deadline = at(n - i);
    calls.deadlines().add(*taken.back());
  }
  while (!taken.empty()) taken.pop_back();
  must(calls.deadlines().size() == 0, "none is left");
}

void correlate(size_t n) {
  rpc::Correlator<int> table(n);
  std::vector<rpc::WireId> ids;
  for (size_t i = 0; i < n; ++i) ids.push_back(*table.open(1));
  for (const rpc::WireId id : ids) must(table.close(id) == 1, "close");
}

// --- Sessions ------------------------------------------------------------------------------------

void answer_batch(size_t n) {
  session::BatchAnswer batch;
  batch.begin_messages(rpc::CodeSet::plain, SIZE_MAX);
  for (size_t i = 0; i < n; ++i) batch.expect();
  batch.end_messages();
  session::Reply reply;
  reply.head = R"({"jsonrpc":"2.0","id":)";
  reply.id = "1";
  reply.tail = R"(,"result":1})";
  for (size_t i = 0; i < n; ++i) batch.add(reply);
  must(batch.complete() && batch.close().size() > n, "a batch");
}

void log_events(size_t n) {
  StoragePool storages;
  session::ReplayLog log(n / 2, SIZE_MAX, storages);
  const std::string_view text = "x";
  for (size_t i = 0; i < n; ++i) log.add(static_cast<uint32_t>(i % 8), {&text, 1});
  must(log.bytes() == n / 2, "the oldest go");
}

// A client resumes a stream again and again, although no events are left for it.
void resume_streams(size_t n) {
  StoragePool storages;
  session::ReplayLog log(n, SIZE_MAX, storages);
  const std::string_view text = "x";
  log.add(1, {&text, 1});
  for (size_t i = 1; i < n; ++i) log.add(2, {&text, 1});
  for (size_t i = 0; i < n; ++i) {
    must(!log.has_after(1, 1), "has_after");
    log.replay(1, 1, [](uint64_t, const auto&) { must(false, "replay"); });
    must(log.take_after(1, 1).empty(), "take_after");
  }
}

// This many sessions subscribe to one key, and then unsubscribe.
void share_subscription(size_t n) {
  session::Subscriptions all;
  const std::string key = "file:///a";
  for (size_t i = 0; i < n; ++i) {
    const auto id = session_of(i);
    must(all.request(id, key).value_or(false), "request");
    all.finish(id, key, 1, session::Subscriptions::Answer::granted);
  }
  for (size_t i = 0; i < n; ++i) must(all.withdraw(session_of(i), key).known, "withdraw");
}

// Subscriptions to keys end, and are requested again meanwhile.
void end_subscriptions(size_t n) {
  session::Subscriptions all;
  const auto key = [](size_t i) { return "file:///" + std::to_string(i); };
  for (size_t i = 0; i < n; ++i) {
    const auto id = session_of(i / session::Subscriptions::kMaxPerSession);
    all.request(id, key(i));
    all.finish(id, key(i), 1, session::Subscriptions::Answer::granted);
    all.withdraw(id, key(i));
    all.request(id, key(i));
  }
  for (size_t i = 0; i < n; ++i) must(!all.take_unwanted(1), "all are asked for");
}

// --- Clients -------------------------------------------------------------------------------------

void count_clients(size_t n) {
  policy::ClientCounts counts(1, {});
  policy::ClientRates rates(1, 1);
  policy::ClientQuotas quotas({.rate = {}, .in_flight = 1, .sessions = 0});
  std::vector<policy::ClientQuotas::Client*> under_way;
  for (size_t i = 0; i < n; ++i) {
    must(counts.add(client(i)), "add");
    rates.use(client(i), at(0));
    under_way.push_back(quotas.begin_call({nullptr, client(i)}, at(0)).value_or(nullptr));
  }
  for (size_t i = 0; i < n; ++i) {
    counts.remove(client(i));
    if (under_way[i] != nullptr) quotas.end_call(*under_way[i]);
  }
}

// More clients than the table holds have a call in flight, and continue to call.
void crowd_quotas(size_t n) {
  policy::ClientQuotas quotas({.rate = {}, .in_flight = 1, .sessions = 0});
  for (size_t i = 0; i < n; ++i) keep(quotas.begin_call({nullptr, client(i)}, at(0)));
  for (size_t i = 0; i < n; ++i) keep(quotas.begin_call({nullptr, client(n + i)}, at(0)));
}

void end_ids(size_t n) {
  mcp::EndedIds ended;
  for (size_t i = 0; i < n; ++i) ended.add(std::to_string(i), at(0), at(1000));
  for (size_t i = 0; i < n; ++i) must(ended.contains(std::to_string(i), at(1)), "contains");
}

// --- The loop ------------------------------------------------------------------------------------

// All objects ask to be flushed, and are destroyed in the same turn of the loop.
void forget_flushes(size_t n) {
  struct Nothing final : net::Flushable {
    void flush() override {}
  };
  net::Loop loop;
  std::vector<Nothing> all(n);
  for (Nothing& one : all) loop.flush_later(one);
  for (Nothing& one : all) loop.forget(one);
  loop.run_once();
}

void arm_timers(size_t n) {
  TimerQueue timers;
  std::vector<std::unique_ptr<Timer>> all;
  for (size_t i = 0; i < n; ++i) {
    all.push_back(std::make_unique<Timer>(timers, [] {}));
    all.back()->arm(at(n - i));
  }
  for (const auto& timer : all) timer->arm(at(2 * n));
  all.clear();
}

// The first due timer destroys all other timers.
void end_due_timers(size_t n) {
  TimerQueue timers;
  std::vector<std::unique_ptr<Timer>> all;
  Timer first(timers, [&all] { all.clear(); });
  first.arm(at(0));
  for (size_t i = 0; i < n; ++i) {
    all.push_back(std::make_unique<Timer>(timers, [] { must(false, "a timer has fired"); }));
    all.back()->arm(at(1));
  }
  timers.run_due(at(2));
}

struct Waiter final : tls::Handshakes::Waiter {
  void on_handshake_turn() override { ++turns; }
  size_t turns = 0;
};

// One client has its share of handshakes in progress and many waiting. Another client waits behind
// them.
void wait_for_handshakes(size_t n) {
  tls::Handshakes handshakes(4 * n);
  std::vector<Waiter> waiting(2 * n);
  for (size_t i = 0; i < n; ++i) must(handshakes.begin(waiting[0], client(1)), "begin");
  for (size_t i = 0; i < n; ++i) must(!handshakes.begin(waiting[i], client(1)), "wait");
  for (size_t i = 0; i < n; ++i) {
    must(handshakes.begin(waiting[n], client(2)), "another client");
    handshakes.end(client(2));
  }
  for (size_t i = 0; i < n; ++i) handshakes.leave(waiting[n - 1 - i], client(1));
  must(handshakes.waiting() == 0, "all have left");
}

}  // namespace

std::vector<CostCase> table_costs() {
  return {entries("calls/by id", 200, &index_calls),
          entries("calls/taken out of a queue", 200, &queue_calls),
          entries("calls/with deadlines", 300, &expire_calls),
          entries("calls/correlated", 500, &correlate),
          entries("sessions/answers of a batch", 500, &answer_batch),
          entries("sessions/events that are kept", 400, &log_events),
          entries("sessions/streams that are resumed", 200, &resume_streams),
          entries("sessions/one subscription of all", 150, &share_subscription),
          entries("sessions/subscriptions that end", 120, &end_subscriptions),
          entries("clients/counted", 200, &count_clients),
          entries("clients/more than are counted", policy::ClientQuotas::kMaxClients / 2,
                  &crowd_quotas),
          entries("clients/ids that have ended", 500, &end_ids),
          entries("loop/flushes that are not wanted any more", 600, &forget_flushes),
          entries("loop/timers", 400, &arm_timers),
          entries("loop/timers that are due and end", 500, &end_due_timers),
          entries("tls/handshakes that wait", 150, &wait_for_handshakes)};
}

}  // namespace stdgate::test
