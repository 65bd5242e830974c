// No process that a gateway has started is left behind, for every kind of process and every kind of
// end. Processes are found by the test's folder: all are started in it, have it as TMPDIR, or name
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <tuple>

#include "tests/integration/harness/setups.h"

namespace stdgate::harness::orphans_test {
namespace {

constexpr Millis kGrace = Millis(200);
constexpr Millis kAfterKill = Millis(2000);
constexpr Millis kAfterAsking = 2 * kGrace + Millis(1500);

// Processes of a backend. All families answer calls.
struct Family {
  std::string name;
  Command command;
  size_t processes;  // including the guard
  size_t adopted;    // direct children of the guard, including processes that have detached
};

// `script` can start rogue_child as "$0".
Command script(const std::string& text) { return {"/bin/sh", "-c", text, rogue({})[0]}; }

const Family kFamilies[] = {
    {"plain", rogue({"rpc"}), 2, 1},
    {"stubborn", rogue({"stubborn"}), 2, 1},
    {"stubborn_grandchild", script("\"$0\" stubborn </dev/null >/dev/null & exec \"$0\" rpc"), 3,
     1},
    {"shell_with_jobs", script("sleep 600 & (sleep 600 &) ; \"$0\" rpc; sleep 600"), 5, 2},
    {"daemon", rogue({"grandchild"}), 3, 2},
};

std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.name; }

// How the gateway, the guard or the command ends.
struct End {
  std::string name;
  std::string pool;
  Millis limit;
  void (*bring)(GatewayProcess& gateway);
  size_t replacements = 0;  // the gateway starts the family again after each of this many ends
};

std::ostream& operator<<(std::ostream& out, const End& end) { return out << end.name; }

// The guard of the only child: the only child process of the gateway that runs. Orphans and an
// earlier guard may still be zombies.
pid_t guard_of(const GatewayProcess& gateway) {
  std::vector<ProcessInfo> guards = children_of(gateway.pid());
  std::erase_if(guards, [](const ProcessInfo& process) { return process.state == 'Z'; });
  EXPECT_EQ(guards.size(), 1U) << describe(guards);
  return guards.at(0).pid;
}

void end_politely(GatewayProcess& gateway) {
  gateway.signal(SIGTERM);
  const auto status = gateway.wait_for_exit(kAfterAsking);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_EQ(describe(gateway.descendants()), "");  // the gateway has waited for them
}

void kill_gateway(GatewayProcess& gateway) {
  gateway.signal(SIGKILL);
  gateway.wait_for_exit();
}

void kill_guard(GatewayProcess& gateway) { kill(guard_of(gateway), SIGKILL); }

void kill_command(GatewayProcess& gateway) {
  // The command may run before the gateway knows its process id. kill() with 0 would end the test
  // itself.
  pid_t pid = 0;
  ASSERT_TRUE(eventually("the gateway knows the command", [&] {
    const JsonValue state = state_of(gateway);
    if (state.size("/backends/0/children") == 0) return false;
    pid = static_cast<pid_t>(state.number("/backends/0/children/0/pid"));
    return pid > 0;
  }));
  kill(pid, SIGKILL);
}

void wait_for_idleness(GatewayProcess& /*gateway*/) {}

// A stopped guard reacts neither to the gateway nor to its command.
void stop_guard(GatewayProcess& gateway) {
  const pid_t guard = guard_of(gateway);
  kill(guard, SIGSTOP);
  EXPECT_TRUE(eventually("the guard is stopped", [&] {
    const std::vector<ProcessInfo> guards = children_of(gateway.pid());
    return std::ranges::any_of(guards, [guard](const ProcessInfo& process) {
      return process.pid == guard && process.state == 'T';
    });
  }));
}

constexpr const char* kOneReplacement =
    "min: 1, idle_timeout: 1h, backoff_min: 1h, backoff_max: 1h";

const End kEnds[] = {
    {"gateway_asked", "idle_timeout: 1h", Millis(0), end_politely},
    {"gateway_killed", "idle_timeout: 1h", kAfterKill, kill_gateway},
    {"guard_killed", kOneReplacement, kAfterKill, kill_guard, 1},
    {"command_killed", kOneReplacement, kAfterKill, kill_command, 1},
    {"child_idle", "idle_timeout: 300ms", Millis(300) + kAfterAsking, wait_for_idleness},
};

// Ends while the guard is stopped by SIGSTOP.
const End kStoppedEnds[] = {
    {"gateway_asked_guard_stopped", "idle_timeout: 1h", Millis(0),
     [](GatewayProcess& gateway) {
       stop_guard(gateway);
       end_politely(gateway);
     }},
    {"gateway_killed_guard_stopped", "idle_timeout: 1h", kAfterKill,
     [](GatewayProcess& gateway) {
       stop_guard(gateway);
       kill_gateway(gateway);
     }},
    {"child_idle_guard_stopped", "idle_timeout: 1s", Millis(1000) + kAfterAsking, stop_guard},
};

std::set<pid_t> pids_of(const std::vector<ProcessInfo>& processes) {
  std::set<pid_t> pids;
  for (const ProcessInfo& process : processes) pids.insert(process.pid);
  return pids;
}

// Whether these are a whole family without any process of `before`. A starting family has other
// processes for a moment.
bool are_others(const std::vector<ProcessInfo>& processes, const Family& family,
                const std::set<pid_t>& before) {
  return processes.size() == family.processes &&
         std::ranges::none_of(processes, [&before](const ProcessInfo& process) {
           return before.contains(process.pid);
         });
}

class Orphans : public testing::TestWithParam<std::tuple<Family, End>> {};

TEST_P(Orphans, NothingIsLeft) {
  const Family& family = std::get<0>(GetParam());
  const End& end = std::get<1>(GetParam());
  GatewayProcess gateway(
      serve_one(family.command, "pool: { max: 1, grace: 200ms, " + end.pool + " }"));
  HttpClient client = gateway.connect();
  ASSERT_EQ(call(client, "any").status, 200);
  ASSERT_TRUE(eventually("all of the family runs",
                         [&] { return gateway.descendants().size() == family.processes; }));
  client.close();
  for (size_t i = 0; i < end.replacements; ++i) {
    const std::set<pid_t> before = pids_of(gateway.descendants());
    end.bring(gateway);
    ASSERT_TRUE(eventually(
        "all are others", [&] { return are_others(gateway.descendants(), family, before); },
        end.limit))
        << describe(gateway.descendants());
  }
  end.bring(gateway);
  EXPECT_TRUE(eventually(
      "all are gone", [&] { return gateway.descendants().empty(); }, end.limit))
      << describe(gateway.descendants());
}

std::string name_of(const testing::TestParamInfo<Orphans::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Each, Orphans,
                         testing::Combine(testing::ValuesIn(kFamilies), testing::ValuesIn(kEnds)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(WithTheGuardStopped, Orphans,
                         testing::Combine(testing::Values(kFamilies[0], kFamilies[4]),
                                          testing::ValuesIn(kStoppedEnds)),
                         name_of);

TEST(OrphansAtStart, CommandThatIsStillStartingIsEndedToo) {
  // Never answers the handshake, and ignores SIGTERM.
  GatewayProcess gateway(serve_one(script("trap '' TERM; sleep 600 & sleep 600; sleep 600"),
                                   "protocol: mcp, isolation: shared, "
                                   "pool: { min: 2, max: 2, grace: 200ms }"));
  ASSERT_TRUE(eventually("both run", [&] { return gateway.descendants().size() == 8; }));
  kill_gateway(gateway);
  EXPECT_TRUE(eventually(
      "all are gone", [&] { return gateway.descendants().empty(); }, kAfterKill));
}

}  // namespace
}  // namespace stdgate::harness::orphans_test
