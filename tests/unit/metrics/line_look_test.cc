// Colours of log lines on terminals, and their priorities in the journal. JSON has neither.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>

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
  LogLine coloured(config::LogFormat::text, LineLook::coloured);
  EXPECT_EQ(coloured.render(time, LogLevel::warn, "it happened", {{"n", uint64_t{1}}}),
            "\x1b[2m1970-01-01T00:00:01.000Z\x1b[0m \x1b[33mwarn\x1b[0m it happened n=1\n");
  EXPECT_EQ(coloured.render(time, LogLevel::error, "e", {}),
            "\x1b[2m1970-01-01T00:00:01.000Z\x1b[0m \x1b[31merror\x1b[0m e\n");
  LogLine plain(config::LogFormat::text);
  EXPECT_EQ(plain.render(time, LogLevel::info, "e", {}), "1970-01-01T00:00:01.000Z info e\n");
  LogLine json(config::LogFormat::json, LineLook::coloured);
  EXPECT_EQ(json.render(time, LogLevel::info, "e", {}),
            "{\"time\":\"1970-01-01T00:00:01.000Z\",\"level\":\"info\",\"event\":\"e\"}\n");
}

TEST(LogJournal, IsKnownByItsStream) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(ends[1], &status), 0);
  const std::string device = std::to_string(status.st_dev) + ":";
  const std::string inode = std::to_string(status.st_ino);
  EXPECT_EQ(look_of(ends[1], {{"JOURNAL_STREAM", device + inode}}), LineLook::journal);
  EXPECT_EQ(look_of(ends[1], {{"JOURNAL_STREAM", device + inode + "0"}}), LineLook::plain);
  EXPECT_EQ(look_of(ends[1], {{"JOURNAL_STREAM", ""}}), LineLook::plain);
  EXPECT_EQ(look_of(ends[1], {}), LineLook::plain);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LogJournal, LinesOfTextBeginWithTheirPriority) {
  const LogLine::Time time{std::chrono::seconds(1)};
  LogLine line(config::LogFormat::text, LineLook::journal);
  const std::pair<LogLevel, const char*> cases[] = {{LogLevel::debug, "<7>"},
                                                    {LogLevel::info, "<6>"},
                                                    {LogLevel::warn, "<4>"},
                                                    {LogLevel::error, "<3>"}};
  for (const auto& [level, priority] : cases) {
    EXPECT_TRUE(line.render(time, level, "e", {}).starts_with(std::string(priority) + "1970-"))
        << priority;
  }
  LogLine json(config::LogFormat::json, LineLook::journal);
  EXPECT_TRUE(json.render(time, LogLevel::info, "e", {}).starts_with("{"));
}

}  // namespace
}  // namespace stdgate::logs
