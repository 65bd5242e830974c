// A running child: its bytes, its end, and its use of resources.
#include "transports/stdio/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/unit/stdio/child_fixture.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ChildTest;
using test::expect_exit;
using test::kSoon;
using testing::ElementsAre;
using Kind = pool::ExitStatus::Kind;

struct ChildProcess : ChildTest {};

TEST_F(ChildProcess, PassesOnHowTheCommandEnded) {
  struct Case {
    const char* mode;
    int number;
    Kind kind;
    int value;
  };
  const Case cases[] = {{"exit", 0, Kind::exited, 0},
                        {"exit", 1, Kind::exited, 1},
                        {"exit", 255, Kind::exited, 255},
                        {"abort", 0, Kind::signaled, SIGABRT},
                        {"signal", SIGSEGV, Kind::signaled, SIGSEGV},
                        {"signal", SIGKILL, Kind::signaled, SIGKILL},
                        {"signal", SIGTERM, Kind::signaled, SIGTERM},
                        {"signal", SIGHUP, Kind::signaled, SIGHUP}};
  for (const Case& c : cases) {
    launch_rogue(c.mode, std::to_string(c.number));
    ASSERT_TRUE(exited()) << c.mode << c.number;
    expect_exit(recorder, c.kind, c.value);
    EXPECT_THAT(recorder.order, ElementsAre("started", "output_end", "exit"));
  }
}

TEST_F(ChildProcess, AnswersAndEndsWithItsInput) {
  launch_rogue("rpc");
  write("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":{\"id\":[\"}\\\"\"]}}\n");
  child->end(seconds(10));
  ASSERT_TRUE(exited(seconds(5)));
  expect_exit(recorder, Kind::exited, 0);
  EXPECT_EQ(recorder.output, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"id\":[\"}\\\"\"]}}\n");
  EXPECT_THAT(recorder.order, ElementsAre("started", "output", "output_end", "exit"));
}

TEST_F(ChildProcess, CarriesMuchBothWays) {
  launch_rogue("cat");
  std::string bytes(16 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((i * 2654435761U) >> 13);
  // Pieces of all sizes, and then the rest at once.
  size_t at = 0;
  for (size_t size = 1; size < (4U << 20); size *= 3) {
    write(std::string_view(bytes).substr(at, size));
    at += size;
  }
  write(std::string_view(bytes).substr(at));
  child->end(seconds(30));
  ASSERT_TRUE(exited(seconds(30)));
  EXPECT_TRUE(recorder.output == bytes);
  expect_exit(recorder, Kind::exited, 0);
}

TEST_F(ChildProcess, NothingIsLostOfWhatItWroteLast) {
  for (const int size : {1, 4096, 1 << 20, 3 << 20}) {
    launch_rogue("burst", std::to_string(size));
    ASSERT_TRUE(exited());
    EXPECT_EQ(recorder.output.size(), static_cast<size_t>(size));
    EXPECT_EQ(recorder.output.find_first_not_of('b'), std::string::npos);
  }
}

TEST_F(ChildProcess, WritesWaitForAChildThatDoesNotRead) {
  launch_rogue("no-read");
  ASSERT_TRUE(until([&] { return recorder.output == "waiting\n"; }));
  const std::string part(1 << 20, 'p');
  for (int i = 0; i < 4; ++i) write(part);
  loop.run_once();
  const size_t unsent = child->unsent_bytes();
  EXPECT_GT(unsent, pool::ChildLink::kHighWatermark);
  EXPECT_LE(unsent, 4 * part.size());
  test::run_for(loop, milliseconds(20));
  EXPECT_EQ(recorder.writable, 0);
  kill_command(SIGUSR1);
  ASSERT_TRUE(until([&] { return recorder.writable == 1; }));
  EXPECT_LE(child->unsent_bytes(), pool::ChildLink::kHighWatermark / 2);
  child->end(seconds(10));
  ASSERT_TRUE(exited());
  EXPECT_EQ(recorder.output, "waiting\n" + std::to_string(4 * part.size()) + "\n");
  EXPECT_EQ(recorder.writable, 1);
}

TEST_F(ChildProcess, EndsWithSigtermAfterTheGraceAndWithSigkillAfterItAgain) {
  struct Case {
    const char* mode;
    int signal;
    Duration at_least;
  };
  constexpr Duration kGrace = milliseconds(50);
  const Case cases[] = {{"ignore-eof", SIGTERM, kGrace}, {"stubborn", SIGKILL, 2 * kGrace}};
  for (const Case& c : cases) {
    launch_rogue(c.mode);
    ASSERT_TRUE(answers());
    const TimePoint begin = loop.now();
    child->end(kGrace);
    ASSERT_TRUE(exited(kSoon));
    EXPECT_GE(loop.now() - begin, c.at_least);
    expect_exit(recorder, Kind::signaled, c.signal);
  }
}

TEST_F(ChildProcess, UnsentBytesDoNotHoldUpTheEnd) {
  launch_rogue("no-read");
  ASSERT_TRUE(started());
  write(std::string(8 << 20, 'x'));
  child->end(milliseconds(50));
  ASSERT_TRUE(exited(kSoon));
  expect_exit(recorder, Kind::signaled, SIGTERM);
}

TEST_F(ChildProcess, AShorterGraceWinsALongerOneDoesNot) {
  launch_rogue("ignore-eof");
  ASSERT_TRUE(answers());
  child->end(seconds(60));
  child->end(milliseconds(20));
  child->end(seconds(60));
  ASSERT_TRUE(exited(kSoon));
  expect_exit(recorder, Kind::signaled, SIGTERM);
}

TEST_F(ChildProcess, EndAtOnce) {
  launch_rogue("stubborn");
  ASSERT_TRUE(answers());
  child->end(seconds(60));
  child->end(Duration::zero());
  EXPECT_FALSE(recorder.exit.has_value());
  write("ignored");
  EXPECT_EQ(child->unsent_bytes(), 0U);
  ASSERT_TRUE(exited(kSoon));
  expect_exit(recorder, Kind::signaled, SIGKILL);
  child->end(Duration::zero());
  write("ignored");
  test::run_for(loop, milliseconds(10));
  EXPECT_THAT(recorder.order, ElementsAre("started", "output", "output_end", "exit"));
}

TEST_F(ChildProcess, ACommandKilledByOthersIsTold) {
  launch_rogue("rpc");
  ASSERT_TRUE(started());
  kill_command(SIGKILL);
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::signaled, SIGKILL);
}

TEST_F(ChildProcess, DiesInTheMiddle) {
  launch_rogue("die-after", "2");
  for (int i = 0; i < 5; ++i) write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n");
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::signaled, SIGKILL);
  EXPECT_EQ(std::ranges::count(recorder.output, '\n'), 2);
}

TEST_F(ChildProcess, OneThatClosesItsInputIsEnded) {
  launch_rogue("close-input");
  ASSERT_TRUE(started());
  ASSERT_TRUE(until([&] {
    if (!recorder.exit) write("is anybody there?\n");
    return recorder.exit.has_value();
  }));
  expect_exit(recorder, Kind::signaled, SIGTERM);
}

TEST_F(ChildProcess, StderrGoesToTheLog) {
  launch_rogue("flood-stderr", "30");
  ASSERT_TRUE(exited());
  ASSERT_EQ(log.lines.size(), 30U);
  const std::string prefix = "child stderr backend=backend pid=" + std::to_string(recorder.pid);
  for (size_t i = 0; i < log.lines.size(); ++i) {
    EXPECT_EQ(log.lines[i], prefix + " line=line " + std::to_string(i));
  }
}

TEST_F(ChildProcess, AFloodOnStdoutEndsWithTheChild) {
  launch_rogue("flood-stdout");
  ASSERT_TRUE(until([&] { return recorder.output.size() > (4U << 20); }));
  child->end(Duration::zero());
  ASSERT_TRUE(exited(kSoon));
}

TEST_F(ChildProcess, FiftyDeathsLeaveNoZombie) {
  for (int i = 0; i < 50; ++i) {
    launch_rogue(i % 2 == 0 ? "exit" : "abort", "1");
    ASSERT_TRUE(exited());
    child.reset();
  }
  EXPECT_TRUE(stdio::children_of(::getpid()).empty());
  EXPECT_TRUE(test::processes_marked(mark).empty());
}

TEST_F(ChildProcess, UsageGrowsAndIsKept) {
  EXPECT_EQ(launcher.usage("backend").cpu_seconds, 0);
  launch({"/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read x", mark});
  ASSERT_TRUE(until([&] { return launcher.usage("backend").cpu_seconds > 0.02; }));
  const stdio::ProcessUsage alive = launcher.usage("backend");
  EXPECT_GT(alive.resident_bytes, 100'000U);
  child->end(seconds(20));
  ASSERT_TRUE(exited());
  const stdio::ProcessUsage ended = launcher.usage("backend");
  EXPECT_GE(ended.cpu_seconds, alive.cpu_seconds);
  EXPECT_EQ(ended.resident_bytes, 0U);
  EXPECT_EQ(launcher.usage("another").cpu_seconds, 0);
}

TEST_F(ChildProcess, UsageOfADestroyedChildIsKept) {
  launch({"/bin/sh", "-c", "while :; do :; done", mark});
  ASSERT_TRUE(until([&] { return launcher.usage("backend").cpu_seconds > 0.02; }));
  const double alive = launcher.usage("backend").cpu_seconds;
  child.reset();
  EXPECT_GE(launcher.usage("backend").cpu_seconds, alive);
  EXPECT_TRUE(all_gone_soon());
}

}  // namespace
}  // namespace stdgate
