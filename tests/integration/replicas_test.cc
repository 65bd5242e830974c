// Three replicas of deploy/examples/replicas.yaml behind a real load balancer: nginx or HAProxy
// with its example. The tests check which replica serves a session, and what becomes of the session
// when that replica goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/load_balancer.h"
#include "tests/integration/harness/mcp_requests.h"
#include "tests/integration/harness/setups.h"
#include "tests/integration/harness/stateful_server.h"
#include "tests/integration/harness/web_server.h"

namespace stdgate::harness::replicas_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kReplicas = 3;
constexpr size_t kSessions = 200;
// How long it may take to use each session once. Starting 200 processes is slow on a busy machine.
constexpr Millis kLoadTime(60'000);
constexpr Millis kPause(4);  // of each load thread between calls

std::string read_example(const std::string& name) {
  std::ifstream in(STDGATE_SOURCE_DIR "/deploy/examples/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The example for `program` that listens at `address` and forwards to these replicas.
LoadBalancerSetup example_of(const std::string& program, const std::string& address,
                             const std::array<std::string, kReplicas>& replicas,
                             const std::array<std::string, kReplicas>& admin_ports) {
  std::string text = read_example("replicas." + program + (program == "nginx" ? ".conf" : ".cfg"));
  for (size_t i = 0; i < kReplicas; ++i) {
    const std::string number = std::to_string(i + 1);
    text = std::regex_replace(text, std::regex("127\\.0\\.0\\.1:808" + number), replicas[i]);
    text = std::regex_replace(text, std::regex("port 908" + number), "port " + admin_ports[i]);
  }
  text = std::regex_replace(text, std::regex("listen 80;"), "listen " + address + ";");
  text = std::regex_replace(text, std::regex("bind :80\n"), "bind " + address + "\n");
  EXPECT_THAT(text, HasSubstr(address));
  return {program, text, address};
}

// An MCP client with one session and one connection at a time. A closed connection is replaced by a
// new one.
class Client {
 public:
  explicit Client(std::string url) : url_(std::move(url)) {}

  // Opens a session.
  void initialize() {
    const HttpResponse opened = post(request(
        "initialize",
        R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}})"));
    if (opened.status != 200) throw std::runtime_error("initialize: " + opened.body);
    session = opened.header("mcp-session-id");
    post(request("notifications/initialized", "", ""));
  }
  HttpResponse post(const std::string& body) {
    if (!http_) http_ = std::make_unique<HttpClient>(url_);
    Headers headers = {{"accept", "application/json, text/event-stream"}};
    if (!session.empty()) headers.emplace("mcp-session-id", session);
    try {
      const HttpResponse response = http_->post("/mcp", body, headers);
      if (response.header("connection") == "close") http_.reset();
      return response;
    } catch (const std::runtime_error&) {
      http_.reset();
      throw;
    }
  }
  // The folder of the child that has answered; if the call failed, the status and body.
  std::string where() {
    const HttpResponse response = post(request("cwd"));
    std::smatch found;
    static const std::regex kResult(R"re("result":"([^"]*)")re");
    if (response.status == 200 && std::regex_search(response.body, found, kResult)) {
      return found[1];
    }
    return std::to_string(response.status) + " " + response.body;
  }

  std::string session;

 private:
  std::string url_;
  std::unique_ptr<HttpClient> http_;
};

class Replicas : public testing::TestWithParam<std::string> {
 protected:
  Replicas() {
    // Addresses of the loopback network for this test alone.
    const auto pid = static_cast<unsigned>(::getpid());
    network_ =
        "127." + std::to_string(16 + (pid >> 8) % 200) + "." + std::to_string(pid & 255) + ".";
    port_ = std::to_string(free_port(network_ + "1"));
    admin_port_ = std::to_string(free_port(network_ + "1"));
    shared_.write("sessions.key", std::string(64, '7') + "\n");
    // The puppet replaces the MCP server of the example.
    fs::create_symlink(puppet().front(), shared_.path() / "mcp-server-filesystem");
    start_all();
  }
  void start_all() {
    for (size_t i = 0; i < kReplicas; ++i) start(i);
    for (size_t i = 0; i < kReplicas; ++i) await_ready(i);
    balancer_ = std::make_unique<LoadBalancer>(balancer_setup());
  }

  void start(size_t replica) {
    const std::string host = network_ + std::to_string(replica + 1);
    GatewaySetup setup;
    setup.config =
        std::regex_replace(read_example("replicas.yaml"), std::regex(R"(pool: \{.*\})"), pool_);
    setup.arguments = {"--log-format", "json"};
    setup.environment = {{"HOSTNAME", "gate-" + std::to_string(replica)},
                         {"LISTEN", host + ":" + port_},
                         {"ADMIN", host + ":" + admin_port_},
                         {"KEY_FILE", shared_.path() / "sessions.key"},
                         {"PATH", shared_.path().string() + ":/usr/bin:/bin"},
                         {"FILES", "mcp"}};
    replicas_[replica] = std::make_unique<GatewayProcess>(setup);
  }

  // While a replica is not ready, a balancer sends its requests to another replica.
  void await_ready(size_t replica) const {
    HttpClient admin("http://" + network_ + std::to_string(replica + 1) + ":" + admin_port_);
    EXPECT_TRUE(
        eventually("the replica is ready", [&] { return admin.get("/readyz").status == 200; }));
  }

  LoadBalancerSetup balancer_setup() const {
    const auto place = [this](size_t replica) {
      return network_ + std::to_string(replica + 1) + ":" + port_;
    };
    return example_of(GetParam(), network_ + "9:" + port_, {place(0), place(1), place(2)},
                      {admin_port_, admin_port_, admin_port_});
  }

  [[nodiscard]] std::string url() const { return balancer_->url(); }
  [[nodiscard]] std::string folder(size_t replica) const { return replicas_[replica]->folder(); }
  // The replica that opened the session, from the replica's name in the id.
  static size_t home_of(const Client& client) {
    EXPECT_THAT(client.session, testing::MatchesRegex("gate-[012]\\.[A-Za-z0-9_-]+"));
    return static_cast<size_t>(client.session[5] - '0');
  }
  std::optional<size_t> server_of(Client& client, std::string* said = nullptr);
  // Opens sessions until each replica has some.
  std::vector<Client> open_everywhere() {
    std::vector<Client> clients;
    std::set<size_t> homes;
    eventually("every replica has sessions", [&] {
      clients.emplace_back(url()).initialize();
      homes.insert(home_of(clients.back()));
      return homes.size() == kReplicas && clients.size() >= 9;
    });
    return clients;
  }

  TemporaryFolder shared_;
  std::string pool_ = "pool: { max: 16, warm: 1 }";  // of the example
  std::string network_;
  std::string port_;
  std::string admin_port_;
  std::array<std::unique_ptr<GatewayProcess>, kReplicas> replicas_;
  std::unique_ptr<LoadBalancer> balancer_;
};

TEST_P(Replicas, SessionsStayWithTheReplicaThatTheirIdNames) {
  std::vector<Client> clients = open_everywhere();
  for (int round = 0; round < 4; ++round) {
    for (Client& client : clients) EXPECT_EQ(client.where(), folder(home_of(client)));
  }
}

// The number of the replica that answers.
std::optional<size_t> Replicas::server_of(Client& client, std::string* said) {
  const std::string where = client.where();
  if (said != nullptr) *said = where;
  for (size_t i = 0; i < kReplicas; ++i) {
    if (replicas_[i] != nullptr && where == folder(i)) return i;
  }
  return std::nullopt;
}

TEST_P(Replicas, SessionsOfAReplicaThatIsKilledGoOnElsewhere) {
  constexpr size_t kVictim = 1;
  std::vector<Client> clients = open_everywhere();
  for (Client& client : clients) EXPECT_EQ(server_of(client), home_of(client));
  replicas_[kVictim]->signal(SIGKILL);
  ASSERT_TRUE(replicas_[kVictim]->wait_for_exit());
  std::vector<std::optional<size_t>> refuges;
  for (Client& client : clients) {
    std::string said;
    const auto server = server_of(client, &said);
    ASSERT_TRUE(server) << said;
    if (home_of(client) == kVictim) {
      EXPECT_NE(server, kVictim);
    } else {
      EXPECT_EQ(server, home_of(client));
    }
    refuges.push_back(server);
  }
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < clients.size(); ++i) {
      EXPECT_EQ(server_of(clients[i]), refuges[i]) << "it stays there";
    }
  }
  replicas_[kVictim].reset();
  start(kVictim);
  for (Client& client : clients) {
    EXPECT_TRUE(
        eventually("it is at home again", [&] { return server_of(client) == home_of(client); }));
  }
}

// Tasks are routed by their ids, states by their client.
// Clients of the modern era, each with its own credential, in front of a server that keeps its
// state in its processes.
class StatefulReplicas : public Replicas {
 protected:
  void SetUp() override {
    balancer_.reset();
    for (auto& replica : replicas_) replica.reset();
    fs::remove(shared_.path() / "mcp-server-filesystem");
    shared_.write("mcp-server-filesystem",
                  "#!/usr/bin/env python3\n" + std::string(kStatefulServer));
    fs::permissions(shared_.path() / "mcp-server-filesystem", fs::perms::owner_all);
    pool_ = "pool: { min: 2, max: 4 }";
    start_all();
  }
  std::string post(HttpClient& client, size_t number, const std::string& method,
                   const std::string& name, const std::string& params) const {
    static const std::string kCapabilities =
        R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
    const Headers shows = {{"authorization", "Bearer " + std::to_string(number)}};
    return client
        .post("/mcp", modern_request(method, params, "1", kCapabilities),
              modern_headers(method, name, shows))
        .body;
  }
  // A task and a state that a client has been given, and the processes that gave them.
  struct Given {
    std::string task;
    pid_t task_pid = 0;
    std::string state;
    pid_t state_pid = 0;
  };
  Given ask(HttpClient& client, size_t number) const {
    const JsonValue task(post(client, number, "tools/call", "work", R"("name":"work")"));
    const JsonValue asked(post(client, number, "tools/call", "ask", R"("name":"ask")"));
    return {task.text("/result/taskId"), pid_in(task), asked.text("/result/requestState"),
            pid_in(asked)};
  }
  std::string get_task(HttpClient& client, size_t number, const Given& given) const {
    return post(client, number, "tasks/get", given.task, R"("taskId":")" + given.task + "\"");
  }
  std::string come_back(HttpClient& client, size_t number, const Given& given) const {
    return post(client, number, "tools/call", "ask",
                R"("name":"ask","requestState":")" + given.state + "\"");
  }
  static pid_t pid_in(const JsonValue& answer) {
    return answer.has("/result/pid") ? static_cast<pid_t>(answer.number("/result/pid")) : 0;
  }
};

TEST_P(StatefulReplicas, WhatAServerHasGivenComesBackToItsReplica) {
  std::set<std::string> homes;
  for (size_t i = 0; i < 60; ++i) {
    HttpClient client(url());
    const Given given = ask(client, i);
    homes.insert(given.task.substr(0, 7));
    EXPECT_THAT(get_task(client, i, given), HasSubstr(R"("status":"working")"));
    EXPECT_THAT(come_back(client, i, given), HasSubstr(R"("resultType":"complete")"));
  }
  EXPECT_EQ(homes.size(), kReplicas) << "all are used";
}

// 160 rounds and 160 tasks. A process is killed after every few of them.
TEST_P(StatefulReplicas, KillsBetweenRoundsLoseTheirOwnOnly) {
  constexpr size_t kClients = 8;
  constexpr size_t kTurns = 20;
  std::atomic<size_t> served = 0;
  std::atomic<size_t> lost = 0;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    std::vector<Given> given(kClients);
    const auto for_each = [&](const auto& visit) {
      in_parallel(kClients, [&](size_t i) {
        HttpClient client(url());
        visit(client, turn * kClients + i, given[i]);
      });
    };
    for_each([this](HttpClient& client, size_t number, Given& one) { one = ask(client, number); });
    const pid_t victim = turn % 4 == 3 ? given[turn % kClients].state_pid : 0;
    if (victim > 0) {
      ASSERT_EQ(::kill(victim, SIGKILL), 0);
    }
    for_each([&](HttpClient& client, size_t number, Given& one) {
      const auto judge = [&](const std::string& answer, pid_t home) {
        EXPECT_GT(home, 0);
        if (home == victim) {
          ++lost;
          EXPECT_THAT(answer, testing::Not(HasSubstr("unknown "))) << "another process was asked";
        } else {
          served += pid_in(JsonValue(answer)) == home ? 1 : 0;
        }
      };
      judge(get_task(client, number, one), one.task_pid);
      judge(come_back(client, number, one), one.state_pid);
    });
  }
  EXPECT_EQ(served + lost, 2 * kClients * kTurns);
  EXPECT_LT(lost, kClients * kTurns) << "most are not concerned";
}

// A balancer that rarely checks its servers: which replica gets requests between the death of a
// replica and the next check. The servers answer with their numbers.
class SeldomCheckedReplicas : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::chrono::seconds kInterval{2};

  SeldomCheckedReplicas() {
    std::array<std::string, kReplicas> places;
    std::array<std::string, kReplicas> ports;
    for (size_t i = 0; i < kReplicas; ++i) {
      servers_[i].answer("/readyz", WebServer::status("200 OK"));
      servers_[i].answer("/mcp", WebServer::json(std::to_string(i)));
      places[i] = servers_[i].url().substr(std::string("http://").size());
      ports[i] = places[i].substr(places[i].find(':') + 1);
    }
    const std::string address = "127.0.0.1:" + std::to_string(free_port("127.0.0.1"));
    LoadBalancerSetup setup = example_of(GetParam(), address, places, ports);
    setup.config = std::regex_replace(setup.config, std::regex("inter 500ms"),
                                      "inter " + std::to_string(kInterval.count()) + "s");
    balancer_ = std::make_unique<LoadBalancer>(setup);
  }
  // The server that answers a request of this session.
  std::string server_of(const std::string& session) {
    return HttpClient(balancer_->url()).post("/mcp", "{}", {{"mcp-session-id", session}}).body;
  }

  std::array<WebServer, kReplicas> servers_;
  std::unique_ptr<LoadBalancer> balancer_;
};

// A session must move only once when its replica dies, because each replica that gets its requests
// starts a child. Until the next check the balancer believes that the replica lives. The replica
// that it chooses then must be the same as after the check. The ids are constant, and so are their
// hashes.
TEST_P(SeldomCheckedReplicas, ADeathIsTakenForOneBeforeAndAfterItsCheck) {
  constexpr size_t kVictim = 1;
  constexpr size_t kOrphans = 64;
  std::vector<std::string> orphans;
  for (size_t i = 0; i < kOrphans; ++i) orphans.push_back("gate-1.session" + std::to_string(i));
  EXPECT_EQ(server_of(orphans[0]), "1");
  if (GetParam() == "haproxy") {
    const size_t before = servers_[kVictim].count("/readyz");
    ASSERT_TRUE(eventually("it has just been checked",
                           [&] { return servers_[kVictim].count("/readyz") > before; }));
  }
  servers_[kVictim].die();
  const auto death = std::chrono::steady_clock::now();
  std::vector<std::string> refuges;
  for (const std::string& session : orphans) refuges.push_back(server_of(session));
  ASSERT_LT(std::chrono::steady_clock::now() - death, kInterval) << "a check has come too early";
  EXPECT_THAT(refuges, testing::Each(testing::AnyOf("0", "2")));
  if (GetParam() == "haproxy") {
    EXPECT_THAT(refuges, testing::Contains("0"));
  }
  std::this_thread::sleep_until(death + kInterval * 3 / 2);
  std::vector<std::string> later;
  for (const std::string& session : orphans) later.push_back(server_of(session));
  EXPECT_EQ(later, refuges);
}

INSTANTIATE_TEST_SUITE_P(LoadBalancers, SeldomCheckedReplicas, testing::Values("nginx", "haproxy"),
                         [](const auto& given) { return given.param; });

// Calls all sessions in turn until stop(). The load pauses between calls, because the balancer's
// checks need processor time: without it, healthy replicas would count as gone.
class Load {
 public:
  Load(std::vector<Client> clients, size_t threads) : clients_(std::move(clients)) {
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i, threads](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          for (size_t at = i; at < clients_.size(); at += threads) {
            call(clients_[at]);
            std::this_thread::sleep_for(kPause);
          }
        }
      });
    }
  }
  // Ends the load and returns its failures.
  std::vector<std::string> stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
    return std::move(failures_);
  }
  [[nodiscard]] size_t calls() const { return calls_; }

 private:
  void call(Client& client) {
    ++calls_;
    std::string said;
    try {
      said = client.where();
      if (said.starts_with("/")) return;
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    const std::lock_guard lock(mutex_);
    failures_.push_back(client.session.substr(0, 6) + ": " + said);
  }

  std::vector<Client> clients_;
  std::atomic<size_t> calls_ = 0;
  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::vector<std::jthread> threads_;
};

TEST_P(Replicas, ARollingRestartLosesNoCall) {
  std::vector<Client> clients = open_everywhere();
  while (clients.size() < kSessions) clients.emplace_back(url()).initialize();
  std::array<Client, kReplicas> probes{Client(url()), Client(url()), Client(url())};
  for (const Client& client : clients) probes[home_of(client)].session = client.session;
  Load load(std::move(clients), 4);
  for (size_t i = 0; i < kReplicas; ++i) {
    const size_t before = load.calls();
    EXPECT_TRUE(eventually(
        "the load goes on", [&] { return load.calls() > before + kSessions; }, kLoadTime));
    replicas_[i]->signal(SIGTERM);
    const auto status = replicas_[i]->wait_for_exit(Millis(20'000));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 0);
    replicas_[i].reset();
    start(i);
    EXPECT_TRUE(eventually("it is used again", [&] { return server_of(probes[i]) == i; }));
  }
  EXPECT_THAT(load.stop(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(LoadBalancers, StatefulReplicas, testing::Values("nginx", "haproxy"),
                         [](const auto& given) { return given.param; });
INSTANTIATE_TEST_SUITE_P(LoadBalancers, Replicas, testing::Values("nginx", "haproxy"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace stdgate::harness::replicas_test
