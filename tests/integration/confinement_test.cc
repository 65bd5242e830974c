// A hostile child attacks the gateway, its own guard, another child and the other child's guard, by
// every known way. If the kernel lacks a feature, the test says so and checks the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness/setups.h"
#include "transports/stdio/guard/landlock.h"
#include "transports/stdio/guard/sandbox.h"

namespace stdgate::harness::confinement_test {
namespace {

using testing::IsEmpty;

const std::set<std::string> kSignals = {"kill", "kill_0", "tgkill", "pidfd_send_signal"};

Command hostile() { return {STDGATE_HOSTILE_CHILD}; }

// A gateway with two backends, each with a hostile child.
struct World {
  explicit World(const std::string& options = "", std::map<std::string, std::string> variables = {})
      : gateway(setup(options, std::move(variables))) {
    EXPECT_TRUE(eventually("both children run", [this] {
      const JsonValue state = state_of(gateway);
      attacker = static_cast<pid_t>(state.number("/backends/0/children/0/pid"));
      sibling = static_cast<pid_t>(state.number("/backends/1/children/0/pid"));
      return attacker > 0 && sibling > 0;
    }));
    for (const ProcessInfo& guard : children_of(gateway.pid())) {
      for (const ProcessInfo& command : children_of(guard.pid)) {
        if (command.pid == attacker) own_guard = guard.pid;
        if (command.pid == sibling) guard_of_sibling = guard.pid;
      }
    }
  }

  static GatewaySetup setup(const std::string& options,
                            std::map<std::string, std::string> variables) {
    const std::string pool = "pool: { min: 1, max: 1 }" + options;
    GatewaySetup setup = serve(
        {backend("main", hostile(), "default: true, " + pool), backend("other", hostile(), pool)});
    setup.environment = std::move(variables);
    return setup;
  }

  // The kernel's results of the first child's attempts, by name of the attempt.
  std::map<std::string, int> attempts(const std::string& method, const std::string& params) {
    HttpClient client = gateway.connect();
    const HttpResponse response = call(client, method, params);
    EXPECT_EQ(response.status, 200) << response.body;
    const JsonValue answer(response.body);
    std::map<std::string, int> results;
    for (const std::string& name : answer.names("/result")) {
      results[name] = static_cast<int>(answer.number("/result/" + name));
    }
    return results;
  }
  // The names of the attempts that the kernel has allowed.
  std::set<std::string> reached(pid_t pid) {
    std::set<std::string> names;
    const auto results = attempts("attack", R"({"pid":)" + std::to_string(pid) + "}");
    EXPECT_GT(results.size(), 20U);
    for (const auto& [name, result] : results) {
      if (result == 0) names.insert(name);
    }
    return names;
  }

  GatewayProcess gateway;
  pid_t attacker = 0;
  pid_t sibling = 0;
  pid_t own_guard = 0;
  pid_t guard_of_sibling = 0;
};

guard::LandlockPlan plan() { return guard::landlock_plan(guard::landlock_abi()); }

// The attempts that succeed on kernels whose Landlock has no scope for signals.
std::set<std::string> open_signals() {
  if ((plan().scoped & guard::kLandlockScopeSignals) != 0) return {};
  std::cout << "this kernel's Landlock (ABI " << guard::landlock_abi()
            << ") has no scope for signals: signals are not checked\n";
  return kSignals;
}

std::set<std::string> without(std::set<std::string> names, const std::set<std::string>& some) {
  for (const std::string& name : some) names.erase(name);
  return names;
}

void expect_confined(const std::string& options) {
  World world(options, {{"STDGATE_TEST_SECRET", "x"}});
  ASSERT_GT(world.own_guard, 0);
  ASSERT_GT(world.guard_of_sibling, 0);
  const std::set<std::string> open = open_signals();
  EXPECT_THAT(without(world.reached(world.gateway.pid()), open), IsEmpty());
  EXPECT_THAT(without(world.reached(world.own_guard), open), IsEmpty());
  EXPECT_THAT(without(world.reached(world.guard_of_sibling), open), IsEmpty());
  if (plan().makes_domain()) {
    EXPECT_THAT(without(world.reached(world.sibling), open), IsEmpty());
  } else {
    std::cout << "this kernel keeps no children apart: siblings are not checked\n";
  }
}

TEST(Confinement, AChildReachesNobody) { expect_confined(""); }

TEST(Confinement, AChildOfAnotherUserReachesNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may start children as other users";
  expect_confined(", user: nobody");
}

TEST(Confinement, AChildHasItsOwnDescendantsAsEver) {
  World world;
  for (const auto& [name, result] : world.attempts("attack_own", "{}")) {
    EXPECT_EQ(result, 0) << name;
  }
}

TEST(Confinement, AbstractSocketsOfOthersAreOutOfReach) {
  if ((plan().scoped & guard::kLandlockScopeAbstractSockets) == 0) {
    GTEST_SKIP() << "this kernel's Landlock has no scope for abstract sockets";
  }
  const std::string name = "stdgate-test-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  World world;
  EXPECT_EQ(world.attempts("connect", R"({"name":")" + name + "\"}").at("connect"), EPERM);
  ::close(listener);
}

TEST(Confinement, OfRootsCapabilitiesAChildHasOnlyThoseOfAnOrdinaryServer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only a gateway that runs as root has any";
  World world;
  HttpClient client = world.gateway.connect();
  const auto has = static_cast<uint64_t>(
      JsonValue(call(client, "capabilities").body).number("/result/effective"));
  uint64_t may_have = 0;
  for (const auto& each : guard::kKeptCapabilities) may_have |= uint64_t{1} << each.number;
  EXPECT_EQ(has & ~may_have, 0U);
  EXPECT_EQ(has, may_have & guard::permitted_capabilities());
  EXPECT_NE(has & (uint64_t{1} << CAP_DAC_OVERRIDE), 0U);
}

TEST(Confinement, IsTold) {
  World world;
  const JsonValue state = state_of(world.gateway);
  const auto abi = static_cast<double>(guard::landlock_abi());
  const bool signals = (plan().scoped & guard::kLandlockScopeSignals) != 0;
  EXPECT_EQ(state.number("/confinement/landlock_abi"), abi);
  EXPECT_EQ(state.flag("/confinement/children_apart"), plan().makes_domain());
  EXPECT_EQ(state.flag("/confinement/signals_scoped"), signals);
  EXPECT_EQ(state.number("/confinement/unconfined_starts"), 0);
  EXPECT_FALSE(state.flag("/confinement/gateway_dumpable"));
  EXPECT_EQ(state.flag("/confinement/runs_as_root"), ::geteuid() == 0);
  const auto lines = log_of(world.gateway, "confinement");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text("/level"), plan().makes_domain() ? "info" : "warn");
  EXPECT_EQ(lines[0].number("/landlock_abi"), abi);
  EXPECT_EQ(lines[0].flag("/signals_scoped"), signals);
  EXPECT_FALSE(lines[0].flag("/gateway_dumpable"));
}

TEST(Confinement, RootIsWarnedOfUnlessAllChildrenAreOthers) {
  struct Case {
    const char* first;
    const char* second;
    bool warns;
  };
  const Case cases[] = {
      {"", "", true}, {", user: nobody", "", true}, {", user: nobody", ", user: nobody", false}};
  for (const Case& c : cases) {
    if (::geteuid() != 0 && c.first[0] != '\0') continue;
    const std::string pool = "pool: { min: 0 }";
    GatewayProcess gateway(serve({backend("main", hostile(), "default: true, " + pool + c.first),
                                  backend("other", hostile(), pool + c.second)}));
    const auto lines = log_of(gateway, "running as root");
    EXPECT_EQ(lines.size(), ::geteuid() == 0 && c.warns ? 1U : 0U) << c.first << c.second;
    for (const JsonValue& line : lines) {
      EXPECT_EQ(line.text("/level"), "warn");
      EXPECT_THAT(line.text("/advice"), testing::HasSubstr("user"));
    }
  }
}

}  // namespace
}  // namespace stdgate::harness::confinement_test
