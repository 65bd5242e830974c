// Ways to start stdgate: without some descriptors, by timeout(1), and as the first process of a
// container.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"

namespace stdgate::harness::surroundings_test {
namespace {

// A gateway that `script` starts. "$@" in the script stands for stdgate and its arguments.
class Started {
 public:
  Started(GatewaySetup setup, const std::string& script) : gateway_(written(setup, script)) {}
  GatewayProcess* operator->() { return &gateway_; }
  GatewayProcess& operator*() { return gateway_; }

 private:
  GatewaySetup written(GatewaySetup setup, const std::string& script) {
    folder_.write("start", "#!/bin/sh\nset -- " STDGATE_PROGRAM " \"$@\"\n" + script + "\n");
    setup.program = folder_.path() / "start";
    chmod(setup.program.c_str(), 0700);
    return setup;
  }

  TemporaryFolder folder_;
  GatewayProcess gateway_;
};

// --- Descriptors ---------------------------------------------------------------------------------

bool takes_connections(const std::string& socket) {
  try {
    const HttpClient client("unix:" + socket);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

TEST(Descriptors, AnyOfTheFirstThreeMayBeClosed) {
  for (int closed = 0; closed < 8; ++closed) {
    std::string redirections;
    for (const int fd : {0, 1, 2}) {
      if ((closed >> fd & 1) != 0) redirections += " " + std::to_string(fd) + ">&-";
    }
    SCOPED_TRACE("closed:" + redirections);
    // Without stdout the gateway cannot announce its address, so the test chooses it.
    GatewaySetup setup = serve_one(shell("exec \"" STDGATE_PROGRAM "\" demo-server"), "",
                                   "listen: \"unix:@DIR@/socket\"\nadmin: \"off\"");
    setup.listeners = 0;
    setup.admin = false;
    Started gateway(setup, "exec \"$@\"" + redirections);
    const std::string socket = gateway->folder() / "socket";
    ASSERT_TRUE(eventually("it listens", [&] { return takes_connections(socket); }));
    for (const int fd : {0, 1, 2}) {
      if ((closed >> fd & 1) == 0) continue;
      EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(gateway->pid()) + "/fd/" +
                                              std::to_string(fd)),
                "/dev/null");
    }
    HttpClient client("unix:" + socket);
    EXPECT_EQ(call(client, "math/add", "[1,2]").body, result("1", "3"));
  }
}

// --- timeout(1) ----------------------------------------------------------------------------------

// Keeps the gateway busy, so that each signal finds it running. Two equal signals that reach a
// sleeping process before it wakes are merged anyway.
class Traffic {
 public:
  explicit Traffic(const GatewayProcess& gateway)
      : thread_([url = gateway.url()] {
          try {
            HttpClient client(url);
            for (;;) call(client, "echo", "[1]");
          } catch (const std::runtime_error&) {
            // The gateway drains and has closed the connection.
          }
        }) {}
  ~Traffic() { thread_.join(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

 private:
  std::thread thread_;
};

// timeout(1) signals the program, and then its own process group, which includes the program. The
// program may see one signal or two, so the test is repeated.
TEST(Timeout, ItsTwoSignalsAreOne) {
  for (int turn = 0; turn < 6; ++turn) {
    Started gateway(serve_one(demo_server(), "", "log: { format: json, calls: false }"),
                    "exec timeout 600 \"$@\"");
    HttpClient client = gateway->connect();
    client.send_request("POST", "/rpc", request("sleep", "[200]"), {});
    await_in_flight(*gateway, 1);
    const Traffic traffic(*gateway);
    EXPECT_TRUE(eventually("there is traffic", [&] {
      return gateway->metrics().sum("stdgate_request_duration_seconds_count") > 10;
    }));
    gateway->signal(SIGTERM);
    EXPECT_EQ(client.read_response().body, result("1", "{\"slept_ms\":200}"));
    client.close();
    const auto status = gateway->wait_for_exit();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 0);
    EXPECT_EQ(log_of(*gateway, "draining").size(), 1U);
    EXPECT_TRUE(log_of(*gateway, "second signal: ending at once").empty());
  }
}

// --- PID 1 ---------------------------------------------------------------------------------------

bool can(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// A command that runs a program in a new PID namespace; empty: not possible here.
std::string namespace_command() {
  for (const std::string command :
       {"unshare --kill-child --pid --fork --mount-proc",
        "unshare --kill-child --user --map-root-user --pid --fork --mount-proc"}) {
    if (can(command + " true")) return command;
  }
  std::cout << "no PID namespaces here: a subreaper, which stdgate is, stands in for PID 1\n";
  return "";
}

// The process id of the gateway: the child of unshare(1), if unshare(1) is used.
pid_t inner_pid(const GatewayProcess& gateway, bool is_in_namespace) {
  return is_in_namespace ? children_of(gateway.pid()).at(0).pid : gateway.pid();
}

TEST(FirstProcess, WaitsForStrangersThatHaveDied) {
  const std::string unshare = namespace_command();
  // A job that leaves orphans, which the gateway has not started.
  const std::string job =
      "(until [ -e strangers ]; do sleep 0.01; done; "
      "for i in 1 2 3 4 5 6 7 8; do (sleep 0.5 &); done; sleep 1; touch done) &\n";
  const std::string script = unshare.empty()
                                 ? job + "exec \"$@\""
                                 : "exec " + unshare + " sh -c '" + job + "exec \"$@\"' sh \"$@\"";
  Started gateway(serve_one(rogue({"rpc"}), "pool: { min: 1 }"), script);
  await_children(*gateway, 1);
  const pid_t pid = inner_pid(*gateway, !unshare.empty());
  close(creat((gateway->folder() / "strangers").c_str(), 0600));
  size_t most = 0;  // the most children at once
  EXPECT_TRUE(eventually("strangers came and went", [&] {
    most = std::max(most, children_of(pid).size());
    return std::filesystem::exists(gateway->folder() / "done");
  }));
  EXPECT_GT(most, 2U) << "guard, job, and strangers";
  EXPECT_TRUE(eventually("only the guard is left, and no zombie", [&] {
    return children_of(pid).size() == 1;
  })) << describe(children_of(pid));
  HttpClient client = gateway->connect();
  EXPECT_EQ(call(client, "any", "[1]").status, 200);
  client.close();
  kill(pid, SIGTERM);
  EXPECT_EQ(gateway->wait_for_exit().value().code, 0);
}

}  // namespace
}  // namespace stdgate::harness::surroundings_test
