// ChildTest: a loop, a launcher with a guard, and functions that look at processes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_child.h"
#include "tests/support/loop_runner.h"
#include "tests/support/recording_log.h"
#include "transports/stdio/child_process.h"
#include "transports/stdio/orphan_reaper.h"
#include "transports/stdio/process_tree.h"

namespace stdgate::test {

// The limit for events that must happen without a further action.
inline constexpr auto kSoon = std::chrono::seconds(2);

// Processes that have `mark` in their arguments, and a name that begins with `name`. Zombies have
// no arguments.
inline std::vector<std::filesystem::path> processes_marked(const std::string& mark,
                                                           const std::string& name = "") {
  // A process that ends meanwhile leaves an empty line.
  const auto first_line = [](const std::filesystem::path& path) {
    std::ifstream stream(path);
    std::string line;
    std::getline(stream, line);
    return line;
  };
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (first_line(entry.path() / "cmdline").find(mark) != std::string::npos &&
        first_line(entry.path() / "comm").starts_with(name)) {
      found.push_back(entry.path());
    }
  }
  return found;
}

struct ChildTest : testing::Test {
  ChildTest() {
    std::signal(SIGPIPE, SIG_IGN);
    static int count = 0;
    mark = "mark-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    spec.backend = "backend";
    spec.environment["PATH"] = "/usr/bin:/bin";
  }

  // Launches a command, whose arguments contain the mark. The link is kept in `child`.
  void launch(std::vector<std::string> command) {
    spec.command = std::move(command);
    recorder = {};
    child = launcher.launch(spec, recorder);
  }
  void launch_rogue(const std::string& mode, const std::string& number = "0") {
    launch({STDGATE_ROGUE, mode, number, mark});
  }
  void write(std::string_view bytes) { child->write({&bytes, 1}); }

  template <class Condition>
  bool until(Condition&& condition, Duration limit = std::chrono::seconds(20)) {
    return run_until(loop, condition, limit);
  }
  bool started() {
    return until([this] { return recorder.pid != 0; });
  }
  bool exited(Duration limit = std::chrono::seconds(20)) {
    return until([this] { return recorder.exit.has_value(); }, limit);
  }
  void kill_command(int signal) {
    ASSERT_GT(recorder.pid, 1);  // kill(2) with 0 would also kill this program
    ASSERT_EQ(::kill(recorder.pid, signal), 0);
  }
  // Whether the command answers a request, which also shows that its start is finished.
  bool answers() {
    const size_t before = recorder.output.size();
    write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n");
    return until([&] { return recorder.output.size() > before; });
  }
  bool all_gone_soon() {
    return until([this] { return processes_marked(mark).empty(); }, kSoon);
  }

  std::string mark;
  net::Loop loop;
  RecordingLog log;
  stdio::OrphanReaper orphans;
  stdio::StrangerWatch strangers{loop, orphans};
  stdio::ChildProcesses launcher{loop, log, orphans, STDGATE_GUARD};
  pool::LaunchSpec spec;
  ChildRecorder recorder;
  std::unique_ptr<pool::ChildLink> child;
};

inline void expect_exit(const ChildRecorder& recorder, pool::ExitStatus::Kind kind, int value) {
  ASSERT_TRUE(recorder.exit.has_value());
  EXPECT_EQ(recorder.exit->kind, kind);
  EXPECT_EQ(recorder.exit->value, value) << recorder.exit->reason;
}

}  // namespace stdgate::test
