#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recording_log.h"
#include "transports/stdio/command_output.h"

namespace stdgate {
namespace {

using testing::ElementsAre;

struct StderrLogTest : testing::Test {
  test::RecordingLog log;
  stdio::StderrLog stderr_log{log, "b"};
  TimePoint now{};
};

TEST_F(StderrLogTest, OneEventALineHoweverItIsSplit) {
  const std::string text = "one\ntwo\r\n\n\r\n three \nlast";
  for (size_t split = 0; split <= text.size(); ++split) {
    log.lines.clear();
    stdio::StderrLog fresh(log, "b");
    fresh.set_pid(7);
    fresh.add(std::string_view(text).substr(0, split), now);
    fresh.add(std::string_view(text).substr(split), now);
    fresh.end(now);
    EXPECT_THAT(log.lines, ElementsAre("child stderr backend=b pid=7 line=one",
                                       "child stderr backend=b pid=7 line=two",
                                       "child stderr backend=b pid=7 line= three ",
                                       "child stderr backend=b pid=7 line=last"));
  }
}

TEST_F(StderrLogTest, LinesNameTheChildAndWhoHasIt) {
  pool::ChildName name;
  name.number = 3;
  name.probe = "server/discover";
  stderr_log.set_pid(7);
  stderr_log.set_name(name);
  stderr_log.add("no such method\n", now);
  name.probe = {};
  name.session = SessionName::of(0xa1);
  name.client = "192.0.2.7";
  name.principal = "ada";
  stderr_log.set_name(name);
  stderr_log.add("oops\n", now);
  EXPECT_THAT(log.lines,
              ElementsAre("child stderr backend=b child=3 pid=7 probe=server/discover "
                          "line=no such method",
                          "child stderr backend=b child=3 pid=7 session=000000a1 client=192.0.2.7 "
                          "principal=ada line=oops"));
}

TEST_F(StderrLogTest, LinesAreCutAtTheLimit) {
  const std::string limit(stdio::StderrLog::kMaxLine, 'x');
  stderr_log.add(limit + "\n" + limit + "y\n" + limit, now);
  stderr_log.add("yyy", now);
  stderr_log.add("y\nnext\n", now);
  const std::string cut = "child stderr backend=b pid=0 line=" + limit;
  EXPECT_THAT(log.lines, ElementsAre(cut, cut, cut, "child stderr backend=b pid=0 line=next"));
}

// The lines come byte by byte, and the limit falls on each byte of a character.
TEST_F(StderrLogTest, LinesAreCutBetweenCharacters) {
  for (size_t room = 0; room < 4; ++room) {
    log.lines.clear();
    const std::string kept(stdio::StderrLog::kMaxLine - room, 'x');
    const std::string line = kept + "\xe2\x80\xae" + "y\n";
    for (const char& byte : line) stderr_log.add({&byte, 1}, now);
    const std::string shown = kept + (room == 3 ? "\xe2\x80\xae" : "");
    EXPECT_THAT(log.lines, ElementsAre("child stderr backend=b pid=0 line=" + shown)) << room;
  }
}

TEST_F(StderrLogTest, MoreLinesThanTheRateAreCounted) {
  now += std::chrono::hours(1);
  const auto add_lines = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) stderr_log.add("x\n", now);
  };
  add_lines(stdio::StderrLog::kMaxLinesPerSecond);
  EXPECT_EQ(log.lines.size(), stdio::StderrLog::kMaxLinesPerSecond);
  add_lines(3);
  EXPECT_EQ(log.lines.size(), stdio::StderrLog::kMaxLinesPerSecond);
  log.lines.clear();
  now += std::chrono::seconds(1);
  add_lines(1);
  EXPECT_THAT(log.lines, ElementsAre("child stderr suppressed backend=b pid=0 lines=3",
                                     "child stderr backend=b pid=0 line=x"));
  log.lines.clear();
  add_lines(stdio::StderrLog::kMaxLinesPerSecond);
  stderr_log.end(now);
  EXPECT_EQ(log.lines.size(), stdio::StderrLog::kMaxLinesPerSecond);
  EXPECT_EQ(log.lines.back(), "child stderr suppressed backend=b pid=0 lines=1");
}

TEST_F(StderrLogTest, KeepsTheLastLines) {
  EXPECT_TRUE(stderr_log.last_lines().empty());
  for (size_t i = 0; i < 1000; ++i) {
    stderr_log.add(std::to_string(i) + "\n\n", now);
    if (i + 1 == stdio::StderrLog::kMaxLastLines) {
      EXPECT_THAT(stderr_log.last_lines(), ElementsAre("0", "1", "2", "3", "4"));
    }
  }
  EXPECT_THAT(stderr_log.last_lines(), ElementsAre("995", "996", "997", "998", "999"))
      << "those that were too many for the log too";
  stderr_log.add(std::string(stdio::StderrLog::kMaxLastLine + 1, 'x') + "\n", now);
  EXPECT_EQ(stderr_log.last_lines().back().size(), stdio::StderrLog::kMaxLastLine);
}

TEST_F(StderrLogTest, KeepsTheReasonOfACrashAndNoFrames) {
  stderr_log.add(
      "/srv/s.js:1\nif (!x) throw new Error(\"X_TOKEN is required\")\n        ^\n\n"
      "Error: X_TOKEN is required\n",
      now);
  for (int i = 0; i < 10; ++i) stderr_log.add("    at Module._load (node:internal:9)\n", now);
  stderr_log.add("\nNode.js v20.20.2\n", now);
  EXPECT_EQ(stderr_log.last_lines().back(), "Error: X_TOKEN is required");
  EXPECT_EQ(log.lines.back(), "child stderr backend=b pid=0 line=Node.js v20.20.2");
  stderr_log.add("    at node:internal/main/run_main_module:23:49\n", now);
  EXPECT_EQ(stderr_log.last_lines().back(), "Error: X_TOKEN is required");
  for (const std::string text : {"at last", "  at least one DIR is needed", "  at", "  at a:1"}) {
    stderr_log.add(text + "\n", now);
    EXPECT_EQ(stderr_log.last_lines().back(), text);
  }
}

}  // namespace
}  // namespace stdgate
