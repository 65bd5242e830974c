#include "metrics/logs/log_line.h"

#include <spdlog/pattern_formatter.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/logs/log_style.h"

namespace stdgate::logs {
namespace {

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// %N: the level as the configuration spells it; spdlog has "warning".
constexpr const char* kJsonPrefix = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%N","event":)";
// %Q: the same in its colour.
constexpr const char* kColouredPrefix = "\x1b[2m%Y-%m-%dT%H:%M:%S.%eZ\x1b[0m %Q ";
constexpr const char* kTextPrefix = "%Y-%m-%dT%H:%M:%S.%eZ %N ";
// %P: the priority, which the journal takes away again (sd-daemon(3)).
constexpr const char* kJournalPrefix = "%P%Y-%m-%dT%H:%M:%S.%eZ %N ";

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
    case LogLevel::off:
      break;
  }
  return spdlog::level::err;
}

std::string_view level_name(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warn";
    default:
      return "error";
  }
}

// Those of syslog: LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR.
std::string_view priority_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "<7>";
    case spdlog::level::info:
      return "<6>";
    case spdlog::level::warn:
      return "<4>";
    default:
      return "<3>";
  }
}

// ECMA-48, select graphic rendition.
std::string_view colour_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "\x1b[2m";
    case spdlog::level::info:
      return "\x1b[32m";
    case spdlog::level::warn:
      return "\x1b[33m";
    default:
      return "\x1b[31m";
  }
}

void append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

class LevelName final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    append(out, level_name(message.level));
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

class ColouredLevel final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    append(out, colour_of(message.level));
    append(out, level_name(message.level));
    append(out, "\x1b[0m");
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<ColouredLevel>();
  }
};

class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    append(out, priority_of(message.level));
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

const char* text_prefix(LineLook look) {
  switch (look) {
    case LineLook::coloured:
      return kColouredPrefix;
    case LineLook::journal:
      return kJournalPrefix;
    case LineLook::plain:
      break;
  }
  return kTextPrefix;
}

std::unique_ptr<spdlog::formatter> make_prefix_formatter(config::LogFormat format, LineLook look) {
  auto formatter =
      std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, std::string());
  formatter->add_flag<LevelName>('N').add_flag<ColouredLevel>('Q').add_flag<Priority>('P');
  formatter->set_pattern(format == config::LogFormat::json ? kJsonPrefix : text_prefix(look));
  return formatter;
}

// More than the line can take.
size_t room_for(std::string_view prefix, std::string_view event,
                std::initializer_list<LogField> fields) {
  size_t room = prefix.size() + log_style::room_for({}, event) + log_style::kPunctuation;
  for (const LogField& field : fields) {
    const auto* text = std::get_if<std::string_view>(&field.value);
    room += text != nullptr ? log_style::room_for(field.key, *text)
                            : log_style::room_for_number(field.key);
  }
  return room;
}

template <class Style>
struct ValueWriter {
  char* to;
  std::string& scratch;

  char* operator()(std::monostate /*nothing*/) const { return to; }
  char* operator()(std::string_view text) const { return Style::write_text(to, text, scratch); }
  char* operator()(int64_t number) const { return log_style::write_number(to, number); }
  char* operator()(uint64_t number) const { return log_style::write_number(to, number); }
  char* operator()(double number) const { return log_style::write_double(to, number); }
  char* operator()(bool is_so) const { return copy_text(to, is_so ? "true" : "false"); }
  char* operator()(Duration duration) const { return log_style::write_milliseconds(to, duration); }
};

template <class Style>
char* write_line(char* to, std::string_view prefix, std::string_view event,
                 std::initializer_list<LogField> fields, std::string& scratch) {
  to = Style::write_event(copy_text(to, prefix), event, scratch);
  for (const LogField& field : fields) {
    if (std::holds_alternative<std::monostate>(field.value)) continue;
    to = Style::write_key(to, field.key);
    to = std::visit(ValueWriter<Style>{to, scratch}, field.value);
  }
  return copy_text(to, Style::kLineEnd);
}

template <class Style>
char* write_rendered(char* to, std::string_view prefix, std::string_view event,
                     std::string_view fields, std::string& scratch) {
  to = Style::write_event(copy_text(to, prefix), event, scratch);
  return copy_text(copy_text(to, fields), Style::kLineEnd);
}

}  // namespace

LineLook look_of(int fd, const std::map<std::string, std::string>& environment) {
  if (is_journal(fd, environment)) return LineLook::journal;
  return takes_colour(fd, environment) ? LineLook::coloured : LineLook::plain;
}

bool is_journal(int fd, const std::map<std::string, std::string>& environment) {
  const std::string stream = value_of(environment, "JOURNAL_STREAM");
  struct stat status {};
  if (stream.empty() || ::fstat(fd, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

bool takes_colour(int fd, const std::map<std::string, std::string>& environment) {
  const std::string terminal = value_of(environment, "TERM");
  return value_of(environment, "NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" &&
         isatty(fd) == 1;
}

LogLine::LogLine(config::LogFormat format, LineLook look)
    : format_(format), prefix_formatter_(make_prefix_formatter(format, look)) {}

LogLine::~LogLine() = default;

std::string_view LogLine::render(Time time, LogLevel level, std::string_view event,
                                 std::initializer_list<LogField> fields) {
  const std::string_view begun = prefix(time, level);
  line_.clear();
  char* const begin = line_.reserve(room_for(begun, event, fields));
  const auto write = format_ == config::LogFormat::json ? write_line<log_style::Json>
                                                        : write_line<log_style::Text>;
  return {begin, write(begin, begun, event, fields, scratch_)};
}

void LogLine::append(ByteQueue& to, Time time, LogLevel level, std::string_view event,
                     std::string_view fields) {
  const std::string_view begun = prefix(time, level);
  char* const begin = to.reserve(room_for(begun, event, {}) + fields.size());
  const auto write = format_ == config::LogFormat::json ? write_rendered<log_style::Json>
                                                        : write_rendered<log_style::Text>;
  to.commit(static_cast<size_t>(write(begin, begun, event, fields, scratch_) - begin));
}

std::string_view LogLine::prefix(Time time, LogLevel level) {
  if (time != prefix_time_ || level != prefix_level_) make_prefix(time, level);
  return prefix_;
}

void LogLine::make_prefix(Time time, LogLevel level) {
  spdlog::memory_buf_t text;
  prefix_formatter_->format(
      spdlog::details::log_msg(time, spdlog::source_loc(), {}, to_spdlog(level), {}), text);
  prefix_.assign(text.data(), text.size());
  prefix_time_ = time;
  prefix_level_ = level;
}

}  // namespace stdgate::logs
