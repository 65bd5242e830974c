// A pool of servers that keep their state in the process. States, tasks and cursors of a process
// are routed back to this process, and are worthless to other clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/stateful_server.h"
#include "tests/integration/harness/websocket_client.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::returning_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr size_t kClients = 8;
constexpr int kRounds = 20;
const std::string kCapabilities =
    R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
const std::string kAnswers = R"(,"inputResponses":{"q":{"action":"accept","content":{}}})";
const std::string kAda = "the-key-of-ada-1234";
const std::string kBob = "the-key-of-bob-1234";

std::string error(const std::string& message) {
  return R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":")" + message + "\"}}";
}

class Caller {
 public:
  explicit Caller(const std::string& url, std::string path = "/mcp", const std::string& key = "")
      : http_(url), path_(std::move(path)) {
    if (!key.empty()) more_.emplace("authorization", "Bearer " + key);
  }
  std::string post(const std::string& method, const std::string& name, const std::string& params) {
    return http_
        .post(path_, modern_request(method, params, "1", kCapabilities),
              modern_headers(method, name, more_))
        .body;
  }
  std::string call(const std::string& tool, const std::string& more = "") {
    return post("tools/call", tool, R"("name":")" + tool + R"(","arguments":{})" + more);
  }
  // `state`: a JSON string with its quotes.
  std::string come_back(const std::string& state) {
    return call("ask", kAnswers + R"(,"requestState":)" + state);
  }
  std::string task(const std::string& id, const std::string& method = "tasks/get") {
    return post(method, id, R"("taskId":")" + id + "\"");
  }
  std::string list(const std::string& cursor = "") {
    return post("tools/list", "", cursor.empty() ? "" : R"("cursor":")" + cursor + "\"");
  }
  // Begins a round and returns the state as a JSON string; `pid` is the process that has given it.
  std::string open_round() {
    const std::string answer = call("ask");
    const JsonValue read(answer);
    pid = static_cast<pid_t>(read.number("/result/pid"));
    std::string state = read.text("/result/requestState");
    if (const size_t quote = state.find('"'); quote != std::string::npos) state.insert(quote, "\\");
    return '"' + state + '"';
  }
  std::string open_task() {
    const JsonValue read(call("work"));
    pid = static_cast<pid_t>(read.number("/result/pid"));
    return read.text("/result/taskId");
  }

  pid_t pid = 0;  // the process that has given the latest state or task

 private:
  HttpClient http_;
  std::string path_;
  Headers more_;
};

// The process that has answered; nothing: the answer is an error.
std::optional<pid_t> served_by(const std::string& answer) {
  const JsonValue read(answer);
  if (!read.has("/result/pid")) return std::nullopt;
  return static_cast<pid_t>(read.number("/result/pid"));
}

class Returning : public testing::Test {
 protected:
  Returning() {
    folder_.write("stateful.py", kStatefulServer);
    folder_.write("ada.key", kAda + "\n");
    folder_.write("bob.key", kBob + "\n");
    folder_.write("sessions.key", std::string(64, '7') + "\n");
  }
  [[nodiscard]] std::string one(const std::string& name, const std::string& pool) const {
    return backend(name, {"python3", folder_.path("stateful.py")},
                   "protocol: mcp, revision: modern, pool: { " + pool + " }");
  }
  [[nodiscard]] std::string two_principals() const {
    return "auth: { api_keys: [{ name: ada, file: " + folder_.path("ada.key") +
           " }, { name: bob, file: " + folder_.path("bob.key") + " }] }\n";
  }

  // How many rounds and tasks of all clients were served.
  struct Served {
    std::atomic<int> rounds = 0;
    std::atomic<int> tasks = 0;
  };
  static void run(const GatewayProcess& gateway, Served& served) {
    in_parallel(kClients, [&](size_t) {
      Caller client(gateway.url());
      for (int i = 0; i < kRounds; ++i) {
        const std::string state = client.open_round();
        if (served_by(client.come_back(state)) == client.pid) ++served.rounds;
        const std::string task = client.open_task();
        if (served_by(client.task(task)) == client.pid) ++served.tasks;
      }
    });
  }

  test::TestFolder folder_;
};

TEST_F(Returning, RoundsAndTasksGoBackToTheirProcess) {
  for (const std::string limit : {"", ", max_in_flight: 1"}) {
    GatewayProcess gateway(serve({one("main", "min: 2, max: 2" + limit)}));
    await_children(gateway, 2);
    Served served;
    run(gateway, served);
    EXPECT_EQ(served.rounds, kClients * kRounds);
    EXPECT_EQ(served.tasks, kClients * kRounds);
  }
}

TEST_F(Returning, WithoutItTheyDoNot) {
  GatewayProcess gateway(serve({one("main", "min: 2, max: 2, sticky: false")}));
  await_children(gateway, 2);
  Served served;
  run(gateway, served);
  EXPECT_LT(served.rounds, kClients * kRounds) << "the test above would see nothing";
  EXPECT_LT(served.tasks, kClients * kRounds);
}

TEST_F(Returning, AreNobodyElsesAndOfNoOtherBackend) {
  GatewayProcess gateway(
      serve({one("one", "min: 1, max: 1"), one("two", "min: 1, max: 1")}, two_principals()));
  Caller ada(gateway.url(), "/one/mcp", kAda);
  Caller bob(gateway.url(), "/one/mcp", kBob);
  Caller elsewhere(gateway.url(), "/two/mcp", kAda);
  elsewhere.open_task();
  bob.open_task();
  const std::string state = ada.open_round();
  const std::string task = ada.open_task();
  const std::string cursor = JsonValue(ada.list()).text("/result/nextCursor");
  for (Caller* const other : {&bob, &elsewhere}) {
    EXPECT_EQ(other->come_back(state), error("requestState is not valid"));
    EXPECT_EQ(other->task(task), error("Task not found"));
    EXPECT_EQ(other->task(task, "tasks/cancel"), error("Task not found"));
    EXPECT_EQ(other->list(cursor), error("cursor is not valid"));
    // An unknown state or task gets the same answer.
    EXPECT_EQ(other->come_back("\"never\""), error("requestState is not valid"));
    EXPECT_EQ(other->task("never"), error("Task not found"));
  }
  EXPECT_EQ(served_by(ada.come_back(state)), ada.pid) << "the others have not used it up";
  EXPECT_EQ(JsonValue(ada.task(task)).text("/result/status"), "working");
  EXPECT_EQ(served_by(ada.list(cursor)), ada.pid);
}

TEST_F(Returning, WhatAProcessHasGivenGoesWithIt) {
  GatewayProcess gateway(serve({one("main", "min: 2, max: 2")}));
  await_children(gateway, 2);
  Caller client(gateway.url());
  const std::string state = client.open_round();
  const std::string task = client.open_task();
  const pid_t victim = client.pid;
  const std::string cursor = JsonValue(client.list()).text("/result/nextCursor");
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_TRUE(eventually("another one runs", [&] {
    const std::optional<pid_t> pid = served_by(client.list());
    return pid && *pid != victim && children_in(state_of(gateway), "ready") == 2;
  }));
  EXPECT_EQ(client.come_back(state), error("requestState is not valid"));
  EXPECT_EQ(client.task(task), error("Task not found"));
  EXPECT_EQ(client.list(cursor), error("unknown cursor")) << "any process says what it means";
  Served served;
  run(gateway, served);
  EXPECT_EQ(served.rounds, kClients * kRounds);
}

// Processes are killed between rounds. Rounds of the other process continue, and no round fails in
// another way.
TEST_F(Returning, KillsBetweenRoundsLoseTheirOwnOnly) {
  GatewayProcess gateway(serve({one("main", "min: 2, max: 2")}));
  await_children(gateway, 2);
  for (int kills = 0; kills < 3; ++kills) {
    std::vector<Caller> clients;
    std::vector<std::string> states(kClients);
    std::vector<std::string> tasks(kClients);
    for (size_t i = 0; i < kClients; ++i) clients.emplace_back(gateway.url());
    std::vector<pid_t> homes(kClients);
    in_parallel(kClients, [&](size_t i) {
      tasks[i] = clients[i].open_task();
      homes[i] = clients[i].pid;
      states[i] = clients[i].open_round();
    });
    const pid_t victim = homes[0];
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    for (size_t i = 0; i < kClients; ++i) {
      const std::string round = clients[i].come_back(states[i]);
      const std::string task = clients[i].task(tasks[i]);
      const bool may_be_cut = clients[i].pid == victim || homes[i] == victim;
      if (clients[i].pid != victim) {
        EXPECT_EQ(served_by(round), clients[i].pid);
      }
      if (homes[i] != victim) {
        EXPECT_EQ(served_by(task), homes[i]);
      }
      if (!may_be_cut) continue;
      EXPECT_THAT(round + task, Not(HasSubstr("unknown ")));
    }
    EXPECT_TRUE(
        eventually("it is replaced", [&] { return children_in(state_of(gateway), "ready") == 2; }));
  }
}

// A process that uses too much memory is kept for clients that return at once.
TEST_F(Returning, AServerThatLeaksLosesNothingUnderLoad) {
  std::string leaking(kStatefulServer);
  const std::string turn = "for line in sys.stdin:\n";
  leaking.replace(leaking.find(turn), turn.size(),
                  "hoard = []\n" + turn + "    hoard.append(bytearray(b'x' * 200_000))\n");
  folder_.write("stateful.py", leaking);
  GatewayProcess gateway(serve({backend("main", {"python3", folder_.path("stateful.py")},
                                        "protocol: mcp, revision: modern, timeout: 5s, "
                                        "pool: { min: 1, max: 8, max_memory: 48MiB }")}));
  await_children(gateway, 1);
  const auto replaced = [&] {
    return gateway.metrics().sum("stdgate_children_replaced_total", {{"reason", "memory"}});
  };
  std::atomic<bool> is_done = false;
  std::atomic<int> failed = 0;
  in_parallel(4, [&](size_t number) {
    if (number == 0) {
      EXPECT_TRUE(holds_within(Millis(60000), [&] { return replaced() >= 3; }));
      is_done = true;
    }
    Caller client(gateway.url());
    while (!is_done) {
      const std::string state = client.open_round();
      if (served_by(client.come_back(state)) != client.pid) ++failed;
      const std::string task = client.open_task();
      if (served_by(client.task(task)) != client.pid) ++failed;
    }
  });
  EXPECT_EQ(failed, 0);
}

TEST_F(Returning, ARestartOfTheGatewayIsTheEndOfThem) {
  const std::string root = "sessions: { key_file: " + folder_.path("sessions.key") + " }\n";
  std::string state;
  std::string task;
  std::string cursor;
  {
    GatewayProcess gateway(serve({one("main", "min: 1, max: 1")}, root));
    Caller client(gateway.url());
    state = client.open_round();
    task = client.open_task();
    cursor = JsonValue(client.list()).text("/result/nextCursor");
  }
  GatewayProcess gateway(serve({one("main", "min: 1, max: 1")}, root));
  Caller client(gateway.url());
  client.open_task();
  EXPECT_EQ(client.come_back(state), error("requestState is not valid"));
  EXPECT_EQ(client.task(task), error("Task not found"));
  EXPECT_EQ(client.list(cursor), error("unknown cursor")) << "its process says so";
}

TEST_F(Returning, AReloadThatReplacesTheBackendLeavesThemThere) {
  GatewayProcess gateway(serve({one("main", "min: 1, max: 1")}));
  Caller client(gateway.url());
  const std::string state = client.open_round();
  const std::string task = client.open_task();
  const pid_t former = client.pid;
  ASSERT_TRUE(reload(gateway, serve({one("main", "min: 1, max: 2")}).config));
  EXPECT_TRUE(eventually("the new one serves", [&] { return served_by(client.list()) != former; }));
  EXPECT_EQ(served_by(client.task(task)), former);
  EXPECT_EQ(served_by(client.come_back(state)), former);
}

TEST_F(Returning, AStreamTellsOfTasksInSeveralProcesses) {
  GatewayProcess gateway(serve({one("main", "min: 2, max: 2")}));
  await_children(gateway, 2);
  Caller client(gateway.url());
  std::vector<std::pair<std::string, pid_t>> tasks;
  std::set<pid_t> homes;
  // Simultaneous calls go to both processes.
  EXPECT_TRUE(eventually("both have some", [&] {
    in_parallel(4, [&](size_t) { Caller(gateway.url()).open_round(); });
    std::vector<Caller> several;
    for (size_t i = 0; i < 4; ++i) several.emplace_back(gateway.url());
    std::vector<std::string> ids(4);
    in_parallel(4, [&](size_t i) { ids[i] = several[i].open_task(); });
    for (size_t i = 0; i < 4; ++i) {
      if (homes.insert(several[i].pid).second) tasks.emplace_back(ids[i], several[i].pid);
    }
    return homes.size() == 2;
  }));
  const std::string ids = "\"" + tasks[0].first + "\",\"" + tasks[1].first + "\"";
  HttpClient stream = gateway.connect();
  stream.send_request(
      "POST", "/mcp",
      modern_request("subscriptions/listen",
                     R"("notifications":{"taskIds":[)" + ids + R"(,"never"]})", "7", kCapabilities),
      modern_headers("subscriptions/listen", "", {{"content-type", "application/json"}}));
  EXPECT_EQ(stream.read_head().status, 200);
  const auto next = [&] {
    while (true) {
      const auto event = stream.read_event();
      if (!event) return std::string();
      if (!event->data.empty()) return event->data;
    }
  };
  const JsonValue begun(next());
  EXPECT_THAT(begun.texts("/params/notifications/taskIds"),
              testing::UnorderedElementsAre(tasks[0].first, tasks[1].first));
  for (const auto& [task, home] : tasks) {
    EXPECT_EQ(served_by(client.task(task, "tasks/cancel")), home);
    const JsonValue told(next());
    EXPECT_EQ(told.text("/params/taskId"), task);
    EXPECT_EQ(told.text("/params/status"), "cancelled");
    EXPECT_EQ(told.number("/params/_meta/io.modelcontextprotocol~1subscriptionId"), 7);
  }
}

TEST_F(Returning, OverWebSocketsToo) {
  GatewayProcess gateway(serve({one("main", "min: 2, max: 2")}));
  await_children(gateway, 2);
  in_parallel(4, [&](size_t) {
    WebSocketClient socket(gateway.url());
    const auto ask = [&](const std::string& tool, const std::string& more) {
      socket.send(modern_request("tools/call", R"("name":")" + tool + R"(","arguments":{})" + more,
                                 "1", kCapabilities));
      return socket.message();
    };
    for (int i = 0; i < kRounds; ++i) {
      const JsonValue asked(ask("ask", ""));
      const std::string state = "\"" + asked.text("/result/requestState") + "\"";
      EXPECT_EQ(
          JsonValue(ask("ask", kAnswers + R"(,"requestState":)" + state)).number("/result/pid"),
          asked.number("/result/pid"));
    }
  });
}

// An idle child stays while its clients may return to it.
TEST_F(Returning, AnIdleProcessStaysWhileItHoldsWork) {
  GatewayProcess gateway(serve({one("main", "min: 0, max: 2, idle_timeout: 50ms")}));
  Caller client(gateway.url());
  const std::string task = client.open_task();
  const pid_t home = client.pid;
  const JsonValue state = state_of(gateway);
  EXPECT_EQ(state.number("/backends/0/children/0/tasks"), 1);
  EXPECT_TRUE(HttpClient(gateway.admin_url()).silent_for(Millis(300)));
  EXPECT_EQ(served_by(client.task(task)), home);
}

}  // namespace
}  // namespace stdgate::harness::returning_test
