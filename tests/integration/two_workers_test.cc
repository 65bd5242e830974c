// Two workers in one process, each with its own loop and thread, and its own clients, sessions and
// children. Neither touches what belongs to the other. They share only the OrphanReaper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gateway/app/worker.h"
#include "gateway/config/config_parser.h"
#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/processes.h"
#include "transports/stdio/orphan_reaper.h"

namespace stdgate::harness {
namespace {

using testing::IsEmpty;
using testing::StartsWith;

// A worker in its own thread, because guards end with the thread that has started them. The
// destructor ends the worker and its children.
class RunningWorker {
 public:
  RunningWorker(config::Config config, const app::WorkerServices& services)
      : config_(std::move(config)), thread_([this, services] { run(services); }) {
    url = url_.get_future().get();
  }
  ~RunningWorker() { stop(); }
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::string url;

 private:
  void run(const app::WorkerServices& services) {
    app::Worker worker(config_, services, [] {});
    net::Loop& loop = worker.loop();
    Timer poll(loop.timers(), [&] {
      if (stop_) return worker.shut_down(SIGTERM);
      poll.arm(loop.now() + app::Shutdown::kPoll);
    });
    poll.arm(loop.now());
    const auto address = worker.clients().listen(*Address::parse("127.0.0.1:0"));
    EXPECT_TRUE(address) << address.error();
    worker.start();
    url_.set_value("http://" + address->to_string());
    worker.run();
  }

  const config::Config config_;
  std::promise<std::string> url_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class TwoWorkers : public testing::Test {
 protected:
  TwoWorkers() {
    std::signal(SIGPIPE, SIG_IGN);
    set_child_signals(SIG_UNBLOCK);
    for (unsigned number : {0U, 1U}) {
      workers_[number] = std::make_unique<RunningWorker>(
          config_of(number),
          app::WorkerServices{environment_, identity_, guard_, number, orphans_});
    }
    set_child_signals(SIG_BLOCK);
  }

  // Later threads inherit the mask. SIGCHLD must go to the loops, because the clients do not handle
  // interrupted system calls.
  static void set_child_signals(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    ::pthread_sigmask(how, &signals, nullptr);
  }

  // Backends: `echo` with one shared child, and `tools` with a child per session. The worker's mark
  // is in the environment of its children.
  [[nodiscard]] config::Config config_of(unsigned number) const {
    const std::string backend =
        "{ command: [\"" STDGATE_ECHO_CHILD "\"], env: { MARK: " + mark(number) + " }, ";
    const auto config = config::parse_config(
        "listen: [\"127.0.0.1:0\"]\nadmin: \"off\"\nlog: { calls: false, level: error }\n"
        "timeouts: { drain: 1s }\nbackends:\n  echo: " +
            backend +
            "protocol: jsonrpc, pool: { min: 1, max: 1, grace: 100ms, backoff_min: 1ms, "
            "backoff_max: 5ms } }\n"
            "  tools: " +
            backend + "protocol: mcp, pool: { max: 4, grace: 100ms } }\n",
        [](const std::string&) { return std::nullopt; });
    EXPECT_TRUE(config) << config.error().front().to_string("");
    return *config;
  }
  [[nodiscard]] static std::string mark(unsigned number) {
    return "worker-" + std::to_string(::getpid()) + "-" + std::to_string(number);
  }

  HttpClient connect(unsigned number) { return HttpClient(workers_[number]->url); }
  HttpResponse call(unsigned number) {
    return connect(number).post("/echo/rpc",
                                R"({"jsonrpc":"2.0","id":1,"method":"echo","params":[1]})");
  }
  static Headers of_session(const std::string& id) {
    Headers headers{{"accept", "application/json, text/event-stream"}};
    if (!id.empty()) headers["mcp-session-id"] = id;
    return headers;
  }
  // Opens a session and returns its id.
  std::string open(unsigned number) {
    const HttpResponse opened = connect(number).post(
        "/tools/mcp",
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
        R"("capabilities":{},"clientInfo":{"name":"c","version":"1"}}})",
        of_session({}));
    EXPECT_EQ(opened.status, 200) << opened.body;
    return opened.header("mcp-session-id");
  }
  HttpResponse call_in_session(unsigned number, const std::string& id) {
    return connect(number).post("/tools/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})",
                                of_session(id));
  }
  int close(unsigned number, const std::string& id) {
    HttpClient client = connect(number);
    client.send_request("DELETE", "/tools/mcp", "", of_session(id));
    return client.read_response().status;
  }

  // The process ids of a worker's commands. guards_of(): of their guards.
  static std::vector<pid_t> commands_of(unsigned number) {
    std::vector<pid_t> pids;
    for (const ProcessInfo& process : processes_marked(mark(number))) {
      if (process.parent != ::getpid()) pids.push_back(process.pid);
    }
    std::ranges::sort(pids);
    return pids;
  }
  // The commands of the session and of the shared child, once both run.
  static std::vector<pid_t> both_commands_of(unsigned number) {
    EXPECT_TRUE(eventually("both run", [number] { return commands_of(number).size() == 2; }));
    return commands_of(number);
  }
  static std::vector<pid_t> guards_of(unsigned number) {
    std::vector<pid_t> pids;
    for (const ProcessInfo& process : processes_marked(mark(number))) {
      if (process.parent != ::getpid()) pids.push_back(process.parent);
    }
    return pids;
  }

  const std::map<std::string, std::string> environment_;
  const app::GatewayIdentity identity_{"1", STDGATE_PROGRAM};
  const std::string guard_ = STDGATE_GUARD;
  stdio::OrphanReaper orphans_;
  std::array<std::unique_ptr<RunningWorker>, 2> workers_;
};

TEST_F(TwoWorkers, ServeAtOnce) {
  std::vector<std::jthread> clients;
  for (const unsigned number : {0U, 1U}) {
    clients.emplace_back([this, number] {
      for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(call(number).body, R"({"jsonrpc":"2.0","id":1,"result":[1]})");
      }
    });
  }
}

TEST_F(TwoWorkers, ASessionIsOfTheWorkerThatItsIdNames) {
  const std::string of_first = open(0);
  const std::string of_second = open(1);
  EXPECT_THAT(of_first, StartsWith("00"));
  EXPECT_THAT(of_second, StartsWith("01"));
  EXPECT_EQ(call_in_session(0, of_first).status, 200);
  EXPECT_EQ(call_in_session(1, of_second).status, 200);
  EXPECT_EQ(call_in_session(0, of_second).status, 404);
  EXPECT_EQ(call_in_session(1, of_first).status, 404);
  EXPECT_EQ(close(1, of_first), 404);
  EXPECT_EQ(call_in_session(0, of_first).status, 200) << "it is open still";
}

TEST_F(TwoWorkers, AKilledGuardIsNoMatterToTheOther) {
  const std::string session = open(0);
  const std::vector<pid_t> untouched = both_commands_of(0);
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(eventually("the child is there", [] { return !guards_of(1).empty(); }));
    for (const pid_t guard : guards_of(1)) ::kill(guard, SIGKILL);
    ASSERT_TRUE(eventually("the calls come through again", [&] { return call(1).status == 200; }));
  }
  EXPECT_EQ(commands_of(0), untouched);
  EXPECT_EQ(call_in_session(0, session).status, 200);
  EXPECT_EQ(call(0).status, 200);
}

// A sweep for orphans must spare a guard that is just being started.
TEST_F(TwoWorkers, SweepsOfOneMeetStartsOfTheOther) {
  const std::jthread killer([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const pid_t guard : guards_of(1)) ::kill(guard, SIGKILL);
      call(1);
    }
  });
  for (int round = 0; round < 40; ++round) {
    const std::string session = open(0);
    EXPECT_EQ(call_in_session(0, session).status, 200);
    EXPECT_EQ(close(0, session), 204);
  }
}

TEST_F(TwoWorkers, TheEndOfOneIsNotTheOthers) {
  const std::string session = open(0);
  open(1);
  const std::vector<pid_t> untouched = both_commands_of(0);
  // A stopped guard does not react, and has to be killed.
  ::kill(guards_of(1).front(), SIGSTOP);
  workers_[1]->stop();
  EXPECT_THAT(processes_marked(mark(1)), IsEmpty());
  EXPECT_EQ(commands_of(0), untouched);
  EXPECT_EQ(call_in_session(0, session).status, 200);
  EXPECT_EQ(call(0).status, 200);
  workers_[0]->stop();
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

}  // namespace
}  // namespace stdgate::harness
