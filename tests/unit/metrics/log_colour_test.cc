// Colours of log lines: on terminals, and in text alone.
#include "metrics/logs/log_colour.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>

#include "metrics/logs/log_line.h"

namespace stdgate::logs {
namespace {

TEST(LogColour, OnlyOnATerminalThatKnowsThem) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  const std::map<std::string, std::string> usual = {{"TERM", "xterm"}};
  EXPECT_TRUE(takes_colour(terminal, usual));
  EXPECT_TRUE(takes_colour(terminal, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_FALSE(takes_colour(terminal, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(takes_colour(terminal, {{"TERM", "dumb"}}));
  EXPECT_FALSE(takes_colour(terminal, {}));
  ::close(terminal);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(takes_colour(ends[1], usual));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LogColour, LevelStandsOut) {
  const LogLine::Time time{std::chrono::seconds(1)};
  LogLine coloured(config::LogFormat::text, true);
  EXPECT_EQ(coloured.render(time, LogLevel::warn, "it happened", {{"n", uint64_t{1}}}),
            "\x1b[2m1970-01-01T00:00:01.000Z\x1b[0m \x1b[33mwarn\x1b[0m it happened n=1\n");
  EXPECT_EQ(coloured.render(time, LogLevel::error, "e", {}),
            "\x1b[2m1970-01-01T00:00:01.000Z\x1b[0m \x1b[31merror\x1b[0m e\n");
  LogLine plain(config::LogFormat::text);
  EXPECT_EQ(plain.render(time, LogLevel::info, "e", {}), "1970-01-01T00:00:01.000Z info e\n");
  LogLine json(config::LogFormat::json, true);
  EXPECT_EQ(json.render(time, LogLevel::info, "e", {}),
            "{\"time\":\"1970-01-01T00:00:01.000Z\",\"level\":\"info\",\"event\":\"e\"}\n");
}

}  // namespace
}  // namespace stdgate::logs
