// The core with many sessions and calls. The cost of a message must not grow with their number. The
// size is the number of messages, and also the number of other sessions or calls.
#include <deque>
#include <memory>
#include <string>

#include "tests/cost/cost_case.h"
#include "tests/unit/mcp/mcp_world.h"
#include "tests/unit/mcp/modern_bench.h"

namespace stdgate::test {

namespace {

using config::Isolation;

backend::BackendOptions wide_options(config::Revision revision = config::Revision::legacy) {
  backend::BackendOptions options = shared_mcp_options(1);
  options.config.revision = revision;
  options.config.pool.max_in_flight = 4096;
  options.config.pool.sessions = 2000;
  return options;
}

// Sessions that share one child.
struct Shared {
  explicit Shared(size_t sessions) : bench(wide_options()) {
    for (size_t i = 0; i < sessions; ++i) clients.emplace_back(bench);
  }
  FakeChild& child() { return bench.child(0); }

  SharedBench bench;
  std::deque<SharedClient> clients;
};

// Counts `run(world, n)` in the world that `prepare(n)` makes.
template <class Prepare, class Run>
CostCase core(const std::string& name, size_t size, Prepare&& prepare, Run&& run) {
  return {"core/" + name, size, [prepare, run](size_t n) -> Step {
            return [n, run, world = std::shared_ptr(prepare(n))] { run(*world, n); };
          }};
}

std::unique_ptr<Shared> with_calls(size_t sessions, size_t calls) {
  auto world = std::make_unique<Shared>(sessions);
  for (size_t i = 0; i < calls; ++i) world->clients[0].call(std::to_string(i));
  must(world->bench.status().in_flight == calls, "calls in flight");
  return world;
}

// This many sessions, each with a question that it has not answered.
std::unique_ptr<Shared> with_questions(size_t sessions) {
  auto world = std::make_unique<Shared>(sessions);
  FakeChild& child = world->child();
  for (SharedClient& client : world->clients) {
    client.call();
    const std::string id = child.take_ids().at(0);
    child.say(R"({"jsonrpc":"2.0","id":"ask","method":"roots/list"})");
    must(client.take().size() == 1, "a session is asked");
    child.answer(id);
  }
  return world;
}

std::vector<CostCase> session_costs() {
  std::vector<CostCase> costs;
  costs.push_back(core(
      "notifications of a session beside the calls of another one", 100,
      [](size_t n) { return with_calls(2, n); },
      [](Shared& world, size_t n) {
        for (size_t i = 0; i < n; ++i) {
          world.clients[1].send(note("x", "{}"));
        }
      }));
  costs.push_back(core(
      "notifications of a child that serves one session", 100,
      [](size_t n) { return with_calls(1, n); },
      [](Shared& world, size_t n) {
        for (size_t i = 0; i < n; ++i) world.child().say(note("x", "{}"));
        must(world.clients[0].take().size() == n, "the session is told");
      }));
  costs.push_back(core("cancels of a child that has asked nothing like that", 100, &with_questions,
                       [](Shared& world, size_t n) {
                         for (size_t i = 0; i < n; ++i) {
                           world.child().say(note("cancelled", R"({"requestId":"none"})"));
                         }
                       }));
  costs.push_back(
      core("cancels of what a child has asked", 100, &with_questions, [](Shared& world, size_t n) {
        for (size_t i = 0; i < n; ++i) {
          world.child().say(note("cancelled", R"({"requestId":"ask"})"));
        }
        for (SharedClient& client : world.clients) must(client.take().size() == 2, "a cancel");
      }));
  costs.push_back(core(
      "cancels of a client", 60, [](size_t n) { return with_calls(1, n); },
      [](Shared& world, size_t n) {
        for (size_t i = 0; i < n; ++i) {
          world.clients[0].send(note("cancelled", R"({"requestId":"none"})"));
          world.clients[0].send(note("cancelled", R"({"requestId":)" + std::to_string(i) + "}"));
        }
        must(world.clients[0].cancelled().size() == n, "all are cancelled");
      }));
  costs.push_back(core("answers of a client that was asked nothing", 100, &with_questions,
                       [](Shared& world, size_t n) {
                         for (size_t i = 0; i < n; ++i) {
                           world.clients[0].send(R"({"jsonrpc":"2.0","id":1234,"result":{}})");
                         }
                       }));
  costs.push_back(core(
      "sessions that end", 100, [](size_t n) { return std::make_unique<Shared>(n); },
      [](Shared& world, size_t) {
        for (SharedClient& client : world.clients) client.close();
      }));
  return costs;
}

// --- Calls that wait for their clients -----------------------------------------------------------

struct Asked {
  ModernBench bench{wide_options(config::Revision::modern)};
  FakeChild& child = bench.begin(0, kDiscovery);
  std::deque<SharedClient> clients;
};

// This many calls, each answered by a question that its client has not answered.
std::unique_ptr<Asked> with_rounds(size_t calls) {
  constexpr size_t kOfSession = 100;  // less than Session::kMaxAsks
  auto world = std::make_unique<Asked>();
  for (size_t i = 0; i < calls; ++i) {
    if (i % kOfSession == 0) {
      world->clients.emplace_back(world->bench)
          .request("initialize",
                   R"({"protocolVersion":)"
                   R"("2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{}})");
    }
    world->clients.back().request("tools/call", R"({"name":"t"})", std::to_string(i));
    world->child.answer(world->child.take_ids().at(0),
                        R"({"resultType":"input_required","requestState":"s","inputRequests":)"
                        R"({"q":{"method":"elicitation/create","params":{"message":"?",)"
                        R"("requestedSchema":{}}}}})");
  }
  must(world->bench.observer.parked_calls == static_cast<int>(calls), "calls wait");
  return world;
}

std::vector<CostCase> round_costs() {
  return {
      core("cancels beside calls that wait for their clients", 60, &with_rounds,
           [](Asked& world, size_t n) {
             for (size_t i = 0; i < n; ++i) {
               world.clients[0].send(note("cancelled", R"({"requestId":"none"})"));
             }
           }),
      core(
          "calls that begin to wait for their clients", 40,
          [](size_t) { return std::make_unique<int>(); }, [](int&, size_t n) { with_rounds(n); })};
}

// --- MCP sessions --------------------------------------------------------------------------------

struct Streams {
  explicit Streams(uint32_t sessions) : world(options_for(sessions)) {
    FakeChild& child = world.bench.start_child();
    child.answer(child.take_ids().at(0), R"({"protocolVersion":"2025-11-25"})");
  }
  static backend::BackendOptions options_for(uint32_t sessions) {
    backend::BackendOptions options = mcp_options(Isolation::shared);
    options.config.pool.sessions = sessions;
    options.config.revive = true;
    options.config.pool.min = options.config.pool.max = 1;
    return options;
  }
  McpWorld world;
  std::deque<FakeEventSink> sinks;
  std::vector<std::string> ids;
};

// This many clients with an open stream at /sse.
std::unique_ptr<Streams> with_streams(size_t count) {
  auto streams = std::make_unique<Streams>(static_cast<uint32_t>(count + 1));
  for (size_t i = 0; i < count; ++i) {
    const auto session = streams->world.sessions.open(mcp::McpSession::Kind::sse);
    must(session.has_value(), "a session is opened");
    (*session)->listen(streams->sinks.emplace_back());
    streams->ids.push_back((*session)->id());
  }
  return streams;
}

std::unique_ptr<Streams> with_sessions(size_t count) {
  auto streams = std::make_unique<Streams>(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    must(streams->world.sessions.open(mcp::McpSession::Kind::streamable).has_value(), "a session");
  }
  return streams;
}

std::vector<CostCase> mcp_session_costs() {
  return {core("streams whose clients leave", 100, &with_streams,
               [](Streams& streams, size_t n) {
                 for (size_t i = 0; i < n; ++i) {
                   streams.sinks[i].leave();
                   streams.world.sessions.detach(streams.ids[i], streams.sinks[i]);
                   BackendBench& bench = streams.world.bench;
                   bench.timers.run_due(bench.clock.now());  // without the bench's own checks
                 }
                 must(streams.world.sessions.size() == 0, "all are over");
               }),
          core("sessions that take the place of others", 80, &with_sessions,
               [](Streams& streams, size_t n) {
                 for (size_t i = 0; i < n; ++i) {
                   keep(streams.world.sessions.open(mcp::McpSession::Kind::streamable));
                 }
                 must(streams.world.sessions.size() == n, "others have gone");
               })};
}

}  // namespace

std::vector<CostCase> core_costs() {
  std::vector<CostCase> costs;
  for (const auto& some : {session_costs(), round_costs(), mcp_session_costs()}) {
    costs.insert(costs.end(), some.begin(), some.end());
  }
  return costs;
}

}  // namespace stdgate::test
