// The harness against shell scripts that stand for a gateway: what it must notice, it notices.
#include "tests/integration/harness/gateway_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace stdgate::harness::gateway_process_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

GatewaySetup script(const std::string& text) {
  GatewaySetup setup;
  setup.program = "/bin/sh";
  setup.arguments = {"-c", text};
  return setup;
}

const char* const kSpeak =
    "echo 'listening on http://127.0.0.1:1'; echo 'listening on unix:@DIR@/s (local)';"
    "echo 'admin on http://127.0.0.1:2';";

// Ends with code 0 at SIGTERM, and takes its children along.
const char* const kServe =
    "trap 'kill $child; wait; exit 0' TERM; sleep 600 & child=$!; echo started >&2;"
    "while :; do wait $child; done";

TEST(GatewayProcess, ReadsWhereItListens) {
  GatewaySetup setup = script(std::string(kSpeak) + kServe);
  setup.listeners = 2;
  GatewayProcess gateway(setup);
  EXPECT_EQ(gateway.url(), "http://127.0.0.1:1");
  EXPECT_EQ(gateway.url(1), "unix:" + gateway.folder().string() + "/s");
  EXPECT_EQ(gateway.admin_url(), "http://127.0.0.1:2");
  EXPECT_TRUE(eventually("the log is caught", [&] { return gateway.log() == "started\n"; }));
  EXPECT_TRUE(eventually("the child is seen", [&] { return gateway.descendants().size() == 1; }));
  EXPECT_THAT(children_of(gateway.pid()), SizeIs(1));
}

TEST(GatewayProcess, ThrowsWhenItDoesNotStart) {
  try {
    GatewayProcess gateway(script("echo 'bad configuration' >&2; exit 2"));
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bad configuration"));
  }
}

TEST(GatewayProcess, TellsHowItEnded) {
  GatewayProcess first(script(std::string(kSpeak) + "exit 3"));
  EXPECT_EQ(first.wait_for_exit().value().code, 3);
  GatewayProcess second(script(std::string(kSpeak) + "exec sleep 600"));
  EXPECT_FALSE(second.wait_for_exit(Millis(20)));
  second.signal(SIGKILL);
  EXPECT_EQ(second.wait_for_exit().value().signal, SIGKILL);
}

TEST(GatewayProcess, FailsTheTestWhenTheExitIsNotClean) {
  EXPECT_NONFATAL_FAILURE(
      { GatewayProcess gateway(script(std::string(kSpeak) + "exec sleep 600")); }, "signal 15");
}

TEST(GatewayProcess, FailsTheTestWhenSomethingIsLeft) {
  // Known by its folder alone: arguments and environment say nothing. The trap stands before the
  // child starts, so that whoever has seen the child may send the signal.
  EXPECT_NONFATAL_FAILURE(
      {
        GatewayProcess gateway(script("trap 'exit 0' TERM;" + std::string(kSpeak) +
                                      "env -i setsid sleep 600 & while :; do wait; done"));
        eventually("it runs", [&] { return !gateway.descendants().empty(); });
      },
      "sleep 600");
}

TEST(GatewayProcess, WritesTheConfiguration) {
  GatewaySetup setup = script("");
  setup.program = "/bin/cat";
  setup.arguments = {"/dev/null"};
  setup.config = "admin: \"off\"\nbackends: @DIR@\n";
  try {
    // cat does not know --config and says so; the file was there before it started.
    GatewayProcess gateway(setup);
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--config"));
  }
}

TEST(Eventually, FailsAtTheDeadline) {
  EXPECT_NONFATAL_FAILURE(eventually(
                              "pigs fly", [] { return false; }, Millis(10)),
                          "not within 10 ms: pigs fly");
  int asked = 0;
  EXPECT_TRUE(eventually("the third time", [&] { return ++asked == 3; }));
}

TEST(Processes, ZombiesAreSeenAsChildren) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(0);
  }
  EXPECT_TRUE(eventually("a zombie", [] {
    const std::vector<ProcessInfo> children = children_of(getpid());
    return children.size() == 1 && children[0].state == 'Z';
  }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(children_of(getpid()), SizeIs(0));
}

}  // namespace
}  // namespace stdgate::harness::gateway_process_test
