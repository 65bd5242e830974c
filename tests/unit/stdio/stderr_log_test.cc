#include "transports/stdio/stderr_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recording_log.h"

namespace stdgate {
namespace {

using testing::ElementsAre;

struct StderrLogTest : testing::Test {
  test::RecordingLog log;
  StderrLog stderr_log{log, "b"};
  TimePoint now{};
};

TEST_F(StderrLogTest, OneEventALineHoweverItIsSplit) {
  const std::string text = "one\ntwo\r\n\n\r\n three \nlast";
  for (size_t split = 0; split <= text.size(); ++split) {
    log.lines.clear();
    StderrLog fresh(log, "b");
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

TEST_F(StderrLogTest, LinesAreCutAtTheLimit) {
  const std::string limit(StderrLog::kLineLimit, 'x');
  stderr_log.add(limit + "\n" + limit + "y\n" + limit, now);
  stderr_log.add("yyy", now);
  stderr_log.add("y\nnext\n", now);
  const std::string cut = "child stderr backend=b pid=0 line=" + limit;
  EXPECT_THAT(log.lines, ElementsAre(cut, cut, cut, "child stderr backend=b pid=0 line=next"));
}

TEST_F(StderrLogTest, MoreLinesThanTheRateAreCounted) {
  now += std::chrono::hours(1);
  const auto add_lines = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) stderr_log.add("x\n", now);
  };
  add_lines(StderrLog::kLinesPerSecond);
  EXPECT_EQ(log.lines.size(), StderrLog::kLinesPerSecond);
  add_lines(3);
  EXPECT_EQ(log.lines.size(), StderrLog::kLinesPerSecond);
  log.lines.clear();
  now += std::chrono::seconds(1);
  add_lines(1);
  EXPECT_THAT(log.lines, ElementsAre("child stderr suppressed backend=b pid=0 lines=3",
                                     "child stderr backend=b pid=0 line=x"));
  log.lines.clear();
  add_lines(StderrLog::kLinesPerSecond);
  stderr_log.end(now);
  EXPECT_EQ(log.lines.size(), StderrLog::kLinesPerSecond);
  EXPECT_EQ(log.lines.back(), "child stderr suppressed backend=b pid=0 lines=1");
}

}  // namespace
}  // namespace stdgate
