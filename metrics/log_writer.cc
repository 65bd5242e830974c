#include "metrics/log_writer.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <utility>

#include "gateway/rpc/envelope.h"

namespace stdgate {
namespace {

// spdlog adds time, level and line end; the body is ours, because it has no fields.
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%N",%v})";
constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %N %v";

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

// %N: the level as the configuration spells it; spdlog has "warning".
class LevelName final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view name = name_of(message.level);
    out.append(name.data(), name.data() + name.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }

 private:
  static std::string_view name_of(spdlog::level::level_enum level) {
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
};

template <class Number>
void append_number(std::string& out, Number number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  out.append(text, end);
}

void append_double(std::string& out, double number) {
  if (std::isfinite(number)) {
    append_number(out, number);
  } else {
    out += "null";  // JSON has no infinity
  }
}

// Text that a reader of key=value takes as one word, and a terminal as nothing but text.
bool is_plain_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
}

void append_text(std::string& out, std::string_view text, LogFormat format) {
  text = text.substr(0, LogWriter::kTextLimit);
  if (format == LogFormat::text && is_plain_word(text)) {
    out += text;
  } else {
    append_json_string(out, text);
  }
}

void append_value(std::string& out, const LogField& field, LogFormat format) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    append_text(out, *text, format);
  } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
    append_number(out, *number);
  } else if (const auto* count = std::get_if<uint64_t>(&field.value)) {
    append_number(out, *count);
  } else if (const auto* real = std::get_if<double>(&field.value)) {
    append_double(out, *real);
  } else {
    out += std::get<bool>(field.value) ? "true" : "false";
  }
}

void append_body(std::string& out, std::string_view event, std::initializer_list<LogField> fields,
                 LogFormat format) {
  if (format == LogFormat::json) {
    out += "\"event\":";
    append_json_string(out, event);
  } else {
    out += event;
  }
  for (const LogField& field : fields) {
    if (std::holds_alternative<std::monostate>(field.value)) continue;
    if (format == LogFormat::json) {
      out += ",\"";
      out += field.key;
      out += "\":";
    } else {
      out += ' ';
      out += field.key;
      out += '=';
    }
    append_value(out, field, format);
  }
}

bool is_regular_file(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool is_writable(int fd, std::chrono::milliseconds wait) {
  pollfd entry = {fd, POLLOUT, 0};
  return poll(&entry, 1, static_cast<int>(wait.count())) > 0 && (entry.revents & POLLOUT) != 0;
}

// Up to `limit` bytes, and whole lines when there is at least one.
std::string_view first_piece(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t line_end = text.rfind('\n', limit - 1);
  return text.substr(0, line_end == std::string_view::npos ? limit : line_end + 1);
}

}  // namespace

// Gives spdlog's finished line to the writer. No lock: there is one thread.
class LogWriter::Sink final : public spdlog::sinks::sink {
 public:
  explicit Sink(LogWriter& writer) : writer_(writer) {}

  void log(const spdlog::details::log_msg& message) override {
    line_.clear();
    formatter_->format(message, line_);
    writer_.take_line({line_.data(), line_.size()});
  }
  void flush() override {}
  void set_pattern(const std::string& pattern) override {
    auto formatter =
        std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
    formatter->add_flag<LevelName>('N').set_pattern(pattern);
    set_formatter(std::move(formatter));
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    formatter_ = std::move(formatter);
  }

 private:
  LogWriter& writer_;
  std::unique_ptr<spdlog::formatter> formatter_;
  spdlog::memory_buf_t line_;
};

LogWriter::LogWriter(int fd, LogLevel level, LogFormat format)
    : fd_(fd), regular_file_(is_regular_file(fd)), format_(format) {
  auto sink = std::make_shared<Sink>(*this);
  sink->set_pattern(format == LogFormat::json ? kJsonPattern : kTextPattern);
  logger_ = std::make_unique<spdlog::logger>("stdgate", std::move(sink));
  logger_->set_level(to_spdlog(level));
}

LogWriter::~LogWriter() = default;

bool LogWriter::enabled(LogLevel level) const {
  return level != LogLevel::off && logger_->should_log(to_spdlog(level));
}

void LogWriter::write(LogLevel level, std::string_view event,
                      std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  body_.clear();
  append_body(body_, event, fields, format_);
  logger_->log(to_spdlog(level), spdlog::string_view_t(body_.data(), body_.size()));
}

void LogWriter::take_line(std::string_view line) {
  if (has_room_for(line.size())) {
    unsent_.append(line);
  } else {
    ++dropped_;
  }
}

bool LogWriter::has_room_for(size_t size) {
  // Once lines are missing, the gap stays one gap until report_dropped() has closed it.
  if (dropped_ > 0) return false;
  if (unsent_.size() + size <= kUnsentLimit) return true;
  if (!stuck_) flush();  // renders no line of its own here: nothing has been dropped
  return unsent_.size() + size <= kUnsentLimit;
}

void LogWriter::report_dropped() {
  if (dropped_ == 0 || unsent_.size() > kUnsentLimit / 2) return;
  const LogField count = {"count", std::exchange(dropped_, 0)};
  // As an error, so that no level but `off` hides that the log has a gap.
  write(LogLevel::error, "log lines dropped", {count});
}

LogWriter::Progress LogWriter::write_piece(std::chrono::milliseconds wait) {
  if (!regular_file_ && !is_writable(fd_, wait)) return Progress::none;
  const std::string_view piece =
      regular_file_ ? unsent_.view() : first_piece(unsent_.view(), PIPE_BUF);
  const ssize_t written = ::write(fd_, piece.data(), piece.size());
  if (written > 0) {
    unsent_.consume(static_cast<size_t>(written));
    return Progress::some;
  }
  if (written < 0 && errno == EINTR) return Progress::some;
  // Nobody will ever read what waits; keeping it serves nothing.
  if (written < 0 && (errno == EPIPE || errno == EBADF)) unsent_.clear();
  return Progress::none;
}

void LogWriter::flush() {
  do {
    report_dropped();
  } while (!unsent_.empty() && write_piece(std::chrono::milliseconds(0)) == Progress::some);
  stuck_ = !unsent_.empty();
}

void LogWriter::flush_blocking(std::chrono::milliseconds wait) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  auto left = wait;
  do {
    report_dropped();
    left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  } while (!unsent_.empty() && left.count() > 0 && write_piece(left) == Progress::some);
}

}  // namespace stdgate
