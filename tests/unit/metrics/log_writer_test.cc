#include "metrics/logs/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "metrics/logs/log_style.h"

namespace stdgate {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kTime = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    EXPECT_NE(end, std::string_view::npos) << "the last line has no end";
    if (end == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// A regular file without a name.
class LogFile {
 public:
  LogFile() : fd_(memfd_create("log", MFD_CLOEXEC)) { EXPECT_GE(fd_, 0); }
  ~LogFile() { close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  std::string content() {
    std::string text(static_cast<size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  const int fd_;
};

class LogPipe {
 public:
  LogPipe() {
    EXPECT_EQ(pipe2(fds_, O_CLOEXEC), 0);
    fcntl(fds_[0], F_SETFL, O_NONBLOCK);
    fcntl(fds_[1], F_SETPIPE_SZ, 16 << 10);
  }
  ~LogPipe() {
    close_reader();
    close(fds_[1]);
  }
  [[nodiscard]] int fd() const { return fds_[1]; }
  void close_reader() {
    if (fds_[0] >= 0) close(fds_[0]);
    fds_[0] = -1;
  }
  void wait_readable() {
    pollfd entry = {fds_[0], POLLIN, 0};
    poll(&entry, 1, -1);
  }
  // Reads what is in the pipe now, at most `limit` bytes.
  std::string read(size_t limit) {
    std::string text(limit, '\0');
    const ssize_t size = ::read(fds_[0], text.data(), limit);
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return text;
  }
  std::string read_all() {
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(fds_[0], buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }

 private:
  int fds_[2] = {-1, -1};
};

std::string render(config::LogFormat format, LogLevel level, std::string_view event,
                   std::initializer_list<LogField> fields) {
  LogFile file;
  logs::LogWriter log(file.fd(), LogLevel::debug, format);
  log.write(level, event, fields);
  log.flush();
  const auto lines = split_lines(file.content());
  EXPECT_EQ(lines.size(), 1U);
  return lines.empty() ? "" : lines[0];
}

bool is_valid_json(std::string text) {
  // The parser of the data path decides. Valid JSON gives a document, even if it is no JSON-RPC
  // message.
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const auto document = parser.parse({text.data(), text.size()});
  return document.has_value();
}

TEST(LogWriter, RendersJson) {
  const std::string line = render(config::LogFormat::json, LogLevel::warn, "child exited",
                                  {{"backend", "calc"},
                                   {"pid", int64_t{-3}},
                                   {"count", std::numeric_limits<uint64_t>::max()},
                                   {"ms", 1.5},
                                   {"infinite", std::numeric_limits<double>::infinity()},
                                   {"ok", true}});
  EXPECT_THAT(line, MatchesRegex(std::string(R"(\{"time":")") + kTime + R"(","level":"warn",.*)"));
  EXPECT_THAT(line,
              EndsWith(R"("event":"child exited","backend":"calc","pid":-3,)"
                       R"("count":18446744073709551615,"ms":1.5,"infinite":null,"ok":true})"));
  EXPECT_TRUE(is_valid_json(line));
}

TEST(LogWriter, RendersText) {
  EXPECT_THAT(render(config::LogFormat::text, LogLevel::info, "child exited",
                     {{"backend", "calc"}, {"code", int64_t{3}}, {"ok", false}}),
              MatchesRegex(std::string(kTime) + " info child exited backend=calc code=3 ok=false"));
}

TEST(LogWriter, DurationsAreMillisecondsWithTheirMicroseconds) {
  using std::chrono::nanoseconds;
  const std::pair<int64_t, const char*> table[] = {
      {0, "0"},
      {499, "0"},
      {501, "0.001"},
      {50'000, "0.05"},
      {100'000, "0.1"},
      {123'000, "0.123"},
      {999'499, "0.999"},
      {999'501, "1"},
      {1'000'000, "1"},
      {1'010'000, "1.01"},
      {20'500'000, "20.5"},
      {100'000'000'000, "100000"},
      {-1, "0"},
      {-5'000'000, "0"},
      {1'234'567, "1.235"},
      {500, "0"},
      {1'500, "0.002"},
      {2'500, "0.002"},
      {3'501, "0.004"},
      {999'500, "1"},
      {10'999'500, "11"},
      {123'450'000'000, "123450"},
  };
  for (const auto& [ns, text] : table) {
    const std::string line =
        render(config::LogFormat::text, LogLevel::info, "e", {{"took_ms", nanoseconds(ns)}});
    EXPECT_TRUE(line.ends_with(std::string(" took_ms=") + text)) << ns << ": " << line;
  }
}

TEST(LogWriter, DurationsReadAsTheShortestDecimalsOfTheirMilliseconds) {
  logs::LogLine line(config::LogFormat::text);
  for (int64_t us = 0; us <= 5'000'000; ++us) {
    const std::string_view text =
        line.render({}, LogLevel::info, "e", {{"ms", std::chrono::microseconds(us)}});
    std::array<char, 32> expected{};
    const char* const end = std::to_chars(expected.data(), expected.data() + expected.size(),
                                          static_cast<double>(us) / 1000)
                                .ptr;
    ASSERT_EQ(text.substr(text.rfind('=') + 1, text.size() - text.rfind('=') - 2),
              std::string_view(expected.data(), static_cast<size_t>(end - expected.data())));
  }
}

TEST(LogWriter, CopiesTextsOfEachSizeWhole) {
  const std::string all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefgh";
  for (size_t size = 1; size <= all.size(); ++size) {
    const std::string text = all.substr(0, size);
    const std::string key = all.substr(0, 1 + size / 2);
    EXPECT_THAT(
        render(config::LogFormat::text, LogLevel::info, text, {{key, text}, {"next", true}}),
        EndsWith(" info " + text + " " + key + "=" + text + " next=true"));
    EXPECT_THAT(
        render(config::LogFormat::json, LogLevel::info, text, {{key, text}, {"next", true}}),
        EndsWith("\"event\":\"" + text + "\",\"" + key + "\":\"" + text + "\",\"next\":true}"));
  }
}

TEST(LogWriter, TimeAndLevelAreOfTheLineAndNotOfTheOneBefore) {
  using std::chrono::milliseconds;
  logs::LogLine line(config::LogFormat::text);
  const auto at = [](int64_t ms) { return logs::LogLine::Time(milliseconds(ms)); };
  const auto render_at = [&](int64_t ms, LogLevel level) {
    return std::string(line.render(at(ms), level, "e", {}));
  };
  EXPECT_EQ(render_at(1'700'000'000'000, LogLevel::info), "2023-11-14T22:13:20.000Z info e\n");
  EXPECT_EQ(render_at(1'700'000'000'000, LogLevel::error), "2023-11-14T22:13:20.000Z error e\n");
  EXPECT_EQ(render_at(1'700'000'000'001, LogLevel::error), "2023-11-14T22:13:20.001Z error e\n");
  EXPECT_EQ(render_at(1'699'999'999'999, LogLevel::error), "2023-11-14T22:13:19.999Z error e\n");
  EXPECT_EQ(render_at(1'709'251'199'999, LogLevel::warn), "2024-02-29T23:59:59.999Z warn e\n");
}

TEST(LogWriter, DevicesThatNeverBlockTakeAllAtOnce) {
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  logs::LogWriter log(fd, LogLevel::info, config::LogFormat::text);
  for (int i = 0; i < 1000; ++i) log.write(LogLevel::info, "event", {{"i", int64_t{i}}});
  EXPECT_GT(log.unsent_bytes(), 32'000U);
  log.flush();
  EXPECT_EQ(log.unsent_bytes(), 0U);
  close(fd);
}

TEST(LogWriter, SpellsLevelsAsTheConfiguration) {
  const std::pair<LogLevel, const char*> cases[] = {{LogLevel::debug, "debug"},
                                                    {LogLevel::info, "info"},
                                                    {LogLevel::warn, "warn"},
                                                    {LogLevel::error, "error"}};
  for (const auto& [level, name] : cases) {
    EXPECT_THAT(render(config::LogFormat::json, level, "x", {}),
                HasSubstr(std::string(R"("level":")") + name + "\","));
    EXPECT_THAT(render(config::LogFormat::text, level, "x", {}),
                HasSubstr(std::string("Z ") + name + " x"));
  }
}

TEST(LogWriter, KeepsAnEventOnOneLineWhateverItCarries) {
  struct Case {
    std::string_view value;
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"plain", "plain", R"("plain")"},
      {"", R"("")", R"("")"},
      {"two words", R"("two words")", R"("two words")"},
      {"a=b", R"("a=b")", R"("a=b")"},
      {"x\n2026-01-01T00:00:00.000Z error forged", R"("x\n2026-01-01T00:00:00.000Z error forged")",
       R"("x\n2026-01-01T00:00:00.000Z error forged")"},
      {"say \"hi\"", R"("say \"hi\"")", R"("say \"hi\"")"},
      {"back\\slash", R"("back\\slash")", R"("back\\slash")"},
      {"\r\x1b[31m", R"("\r\u001b[31m")", R"("\r\u001b[31m")"},
      {"{%v} {} %s", R"("{%v} {} %s")", R"("{%v} {} %s")"},
      {"\xff", R"("\xff")", R"("\ufffd")"},
      {"\x7f", R"("\u007f")", R"("\u007f")"},
      {"\xc2\x9b[31m", R"("\u009b[31m")", R"("\u009b[31m")"},
      {"\xc2\x85", R"("\u0085")", R"("\u0085")"},
      {"\xe2\x80\xa8", R"("\u2028")", R"("\u2028")"},
      {"\xe2\x80\xae.exe", R"("\u202e.exe")", R"("\u202e.exe")"},
      {"\xef\xbb\xbf", R"("\ufeff")", R"("\ufeff")"},
      {"caf\xc3\xa9", "\"caf\xc3\xa9\"", "\"caf\xc3\xa9\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.value);
    EXPECT_THAT(render(config::LogFormat::text, LogLevel::info, "x", {{"value", c.value}}),
                EndsWith(std::string(" info x value=") + c.text));
    const std::string json =
        render(config::LogFormat::json, LogLevel::info, "x", {{"value", c.value}});
    EXPECT_THAT(json, EndsWith(std::string("\"value\":") + c.json + "}"));
    EXPECT_TRUE(is_valid_json(json));
  }
}

TEST(LogWriter, EveryByteMakesAValidLine) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value = {'a', static_cast<char>(byte), 'b'};
    const std::string json =
        render(config::LogFormat::json, LogLevel::info, "x", {{"value", value}});
    EXPECT_TRUE(is_valid_json(json)) << byte;
    EXPECT_THAT(render(config::LogFormat::text, LogLevel::info, "x", {{"value", value}}),
                HasSubstr(" value="));
  }
}

TEST(LogWriter, CutsLongTexts) {
  const std::string at_limit(logs::log_style::kMaxText, 'x');
  for (const std::string& value : {at_limit, at_limit + "y"}) {
    EXPECT_THAT(render(config::LogFormat::text, LogLevel::info, "e", {{"value", value}}),
                EndsWith(" value=" + at_limit));
  }
}

TEST(LogWriter, CutsBetweenCharacters) {
  for (size_t before = 0; before < 4; ++before) {
    const std::string kept(logs::log_style::kMaxText - before, 'x');
    const std::string cut = kept + (before == 3 ? R"(\u202e)" : "");
    EXPECT_THAT(
        render(config::LogFormat::text, LogLevel::info, "e", {{"value", kept + "\xe2\x80\xae"}}),
        EndsWith(before == 3 ? " value=\"" + cut + "\"" : " value=" + cut));
    EXPECT_THAT(
        render(config::LogFormat::json, LogLevel::info, "e", {{"value", kept + "\xe2\x80\xae"}}),
        EndsWith("\"value\":\"" + cut + "\"}"));
  }
}

TEST(LogWriter, WritesFromItsLevelOn) {
  LogFile file;
  logs::LogWriter log(file.fd(), LogLevel::warn, config::LogFormat::text);
  EXPECT_FALSE(log.enabled(LogLevel::info));
  EXPECT_TRUE(log.enabled(LogLevel::warn));
  EXPECT_FALSE(log.enabled(LogLevel::off));
  log.write(LogLevel::info, "quiet", {});
  log.write(LogLevel::warn, "loud", {});
  log.write(LogLevel::error, "louder", {});
  log.flush();
  EXPECT_THAT(split_lines(file.content()), ElementsAre(EndsWith("loud"), EndsWith("louder")));
  logs::LogWriter off(file.fd(), LogLevel::off, config::LogFormat::text);
  EXPECT_FALSE(off.enabled(LogLevel::error));
}

// Stands still until advance().
class EventClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance() { now_ += std::chrono::nanoseconds(1); }

 private:
  TimePoint now_{std::chrono::seconds(1)};
};

std::string time_of(const std::string& line) { return line.substr(0, line.find(' ')); }

TEST(LogWriter, LinesOfAnEventHaveItsTime) {
  LogFile file;
  EventClock events;
  logs::LogWriter log(file.fd(), LogLevel::info, config::LogFormat::text, &events);
  log.write(LogLevel::info, "first", {});
  const auto began = std::chrono::system_clock::now();
  while (std::chrono::system_clock::now() - began < std::chrono::milliseconds(2)) {
  }
  log.write(LogLevel::info, "same event", {});
  events.advance();
  log.write(LogLevel::info, "next event", {});
  log.flush();
  const auto lines = split_lines(file.content());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(time_of(lines[0]), time_of(lines[1]));
  EXPECT_LT(time_of(lines[1]), time_of(lines[2]));
}

TEST(LogWriter, TakesRenderedFieldsAsTheyAre) {
  LogFile file;
  logs::LogWriter text(file.fd(), LogLevel::info, config::LogFormat::text);
  text.write_rendered(LogLevel::debug, "quiet", " key=value");
  text.write_rendered(LogLevel::warn, "call", " key=value");
  text.flush();
  EXPECT_THAT(split_lines(file.content()), ElementsAre(EndsWith(" warn call key=value")));
  EXPECT_TRUE(file.content().ends_with('\n'));
}

TEST(LogWriter, TakesRenderedFieldsInJson) {
  LogFile file;
  logs::LogWriter json(file.fd(), LogLevel::info, config::LogFormat::json);
  json.write_rendered(LogLevel::info, "call", R"(,"key":"value")");
  json.flush();
  const auto lines = split_lines(file.content());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], EndsWith(R"("event":"call","key":"value"})"));
  EXPECT_TRUE(is_valid_json(lines[0]));
}

TEST(LogWriter, CollectsUntilFlush) {
  LogFile file;
  logs::LogWriter log(file.fd(), LogLevel::info, config::LogFormat::text);
  log.write(LogLevel::info, "one", {});
  log.write(LogLevel::info, "two", {});
  EXPECT_EQ(file.content(), "");
  EXPECT_GT(log.unsent_bytes(), 0U);
  log.flush();
  EXPECT_EQ(log.unsent_bytes(), 0U);
  EXPECT_EQ(split_lines(file.content()).size(), 2U);
}

TEST(LogWriter, TakesMoreThanItsLimitBetweenTwoFlushesToAFile) {
  LogFile file;
  logs::LogWriter log(file.fd(), LogLevel::info, config::LogFormat::text);
  const std::string value(60'000, 'x');
  for (int i = 0; i < 100; ++i) log.write(LogLevel::info, "x", {{"value", value}});
  log.flush();
  EXPECT_EQ(split_lines(file.content()).size(), 100U);
}

TEST(LogWriter, DropsWholeLinesWhenNobodyReadsAndSaysSo) {
  LogPipe pipe;
  logs::LogWriter log(pipe.fd(), LogLevel::info, config::LogFormat::text);
  const std::string value(1000, 'x');
  uint64_t written = 0;
  const auto write_numbered = [&] {
    log.write(LogLevel::info, "x", {{"number", ++written}, {"value", value}});
  };
  while (written < 2000) write_numbered();
  log.flush();
  EXPECT_GT(log.unsent_bytes(), logs::LogWriter::kMaxUnsent - 2000);
  EXPECT_LE(log.unsent_bytes(), logs::LogWriter::kMaxUnsent);
  // The next turns empty the pipe little by little, while more events are written.
  std::string text;
  while (log.unsent_bytes() > 0) {
    text += pipe.read_all();
    log.flush();
    if (written < 2010) write_numbered();
  }
  text += pipe.read_all();
  // There is one gap, and the line in its place says its size.
  const auto lines = split_lines(text);
  uint64_t expected = 1;
  size_t gaps = 0;
  for (const std::string& line : lines) {
    const size_t number_at = line.find(" number=");
    if (number_at != std::string::npos) {
      EXPECT_THAT(line, HasSubstr(" number=" + std::to_string(expected) + " "));
      EXPECT_THAT(line, EndsWith("=" + value));
      ++expected;
    } else {
      ASSERT_THAT(line, HasSubstr(" error log lines dropped count="));
      expected += std::stoul(line.substr(line.rfind('=') + 1));
      ++gaps;
    }
  }
  EXPECT_EQ(gaps, 1U);
  EXPECT_EQ(expected, written + 1);
}

TEST(LogWriter, WritesALineLongerThanAPiece) {
  LogPipe pipe;
  logs::LogWriter log(pipe.fd(), LogLevel::info, config::LogFormat::text);
  const std::string value(60'000, 'x');
  log.write(LogLevel::info, "before", {});
  log.write(LogLevel::info, "x", {{"value", value}});
  log.write(LogLevel::info, "after", {});
  std::string text;
  do {
    log.flush();
    text += pipe.read_all();
  } while (log.unsent_bytes() > 0);
  const auto lines = split_lines(text);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[1], EndsWith("value=" + value));
}

TEST(LogWriter, LinesOfSeveralWritersToAFullPipeStayWhole) {
  LogPipe pipe;
  logs::LogWriter first(pipe.fd(), LogLevel::info, config::LogFormat::text);
  logs::LogWriter second(pipe.fd(), LogLevel::info, config::LogFormat::text);
  const std::string value(700, 'x');
  constexpr size_t kLines = 300;
  for (size_t i = 0; i < kLines; ++i) {
    first.write(LogLevel::info, "first", {{"value", value}});
    second.write(LogLevel::info, "second", {{"value", value}});
  }
  std::string text;
  // The writers take turns, and the first writer takes all the room that there is.
  for (size_t turn = 0; first.unsent_bytes() + second.unsent_bytes() > 0; ++turn) {
    (turn % 2 == 0 ? first : second).flush();
    text += pipe.read(5000);
  }
  text += pipe.read_all();
  const auto lines = split_lines(text);
  EXPECT_EQ(lines.size(), 2 * kLines);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find(" info "), std::string_view("2026-01-01T00:00:00.000Z").size());
    EXPECT_THAT(line, AnyOf(EndsWith(" info first value=" + value),
                            EndsWith(" info second value=" + value)));
  }
}

// A descriptor without RWF_NOWAIT, such as a named pipe, a terminal, and on older kernels every
// pipe.
TEST(LogWriter, WritesToNamedPipesWithoutWaiting) {
  const std::string folder = testing::TempDir() + "stdgate_log_XXXXXX";
  std::vector<char> name(folder.c_str(), folder.c_str() + folder.size() + 1);
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::string path = std::string(name.data()) + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  unlink(path.c_str());
  rmdir(name.data());
  ASSERT_GE(fd, 0);
  ASSERT_GE(reader, 0);
  logs::LogWriter log(fd, LogLevel::info, config::LogFormat::text);
  const std::string value(1000, 'x');
  for (int i = 0; i < 500; ++i) log.write(LogLevel::info, "x", {{"value", value}});
  std::string text;
  char buffer[4096];
  do {
    log.flush();
    for (ssize_t size = 0; (size = read(reader, buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(size));
    }
  } while (log.unsent_bytes() > 0);
  EXPECT_EQ(split_lines(text).size(), 500U);
  close(reader);
  close(fd);
}

TEST(LogWriter, WaitsForTheLastWordsButNotForEver) {
  LogPipe pipe;
  logs::LogWriter log(pipe.fd(), LogLevel::info, config::LogFormat::text);
  const std::string value(50'000, 'x');
  log.write(LogLevel::error, "x", {{"value", value}});
  log.flush_blocking(std::chrono::milliseconds(20));
  EXPECT_GT(log.unsent_bytes(), 0U);
  std::string text;
  std::thread reader([&] {
    while (text.empty() || text.back() != '\n') {
      pipe.wait_readable();
      text += pipe.read_all();
    }
  });
  log.flush_blocking(std::chrono::seconds(60));
  reader.join();
  EXPECT_EQ(log.unsent_bytes(), 0U);
  EXPECT_THAT(split_lines(text), ElementsAre(EndsWith(value)));
}

TEST(LogWriter, GivesUpOnAPipeThatNobodyWillRead) {
  ASSERT_NE(signal(SIGPIPE, SIG_IGN), SIG_ERR);
  LogPipe pipe;
  logs::LogWriter log(pipe.fd(), LogLevel::info, config::LogFormat::text);
  pipe.close_reader();
  log.write(LogLevel::info, "x", {});
  log.flush();
  EXPECT_EQ(log.unsent_bytes(), 0U);
  log.flush_blocking(std::chrono::seconds(60));
}

}  // namespace
}  // namespace stdgate
