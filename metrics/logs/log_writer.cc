#include "metrics/logs/log_writer.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

#include "metrics/logs/log_style.h"

namespace stdgate::logs {

namespace {

// Files, and devices like /dev/null that are no terminals.
bool never_blocks(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return false;
  return S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(fd) == 0);
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

LogWriter::LogWriter(int fd, LogLevel level, config::LogFormat format, const Clock* events,
                     LineLook look)
    : fd_(fd), way_(way_of(fd)), level_(level), events_(events), line_(format, look) {}

bool LogWriter::enabled(LogLevel level) const { return level != LogLevel::off && level >= level_; }

void LogWriter::write(LogLevel level, std::string_view event,
                      std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  take_line(line_.render(time(), level, event, fields));
}

void LogWriter::confirm(LogLevel level, std::string_view event,
                        std::initializer_list<LogField> fields) {
  if (level_ == LogLevel::off) return;
  take_line(line_.render(time(), level, event, fields));
}

void LogWriter::write_rendered(LogLevel level, std::string_view event, std::string_view fields) {
  if (!enabled(level)) return;
  if (has_room_for(event.size() + fields.size())) {
    line_.append(unsent_, time(), level, event, fields);
  } else {
    ++dropped_;
  }
}

LogLine::Time LogWriter::time() {
  const TimePoint event = events_ == nullptr ? TimePoint{} : events_->now();
  if (event == TimePoint{} || event != event_) {
    event_ = event;
    event_time_ = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  return event_time_;
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
  if (unsent_.size() + size <= kMaxUnsent) return true;
  if (!stuck_) flush();  // renders no line of its own here: nothing has been dropped
  return unsent_.size() + size <= kMaxUnsent;
}

void LogWriter::report_dropped() {
  if (dropped_ == 0 || unsent_.size() > kMaxUnsent / 2) return;
  const LogField count = {"count", std::exchange(dropped_, 0)};
  // As an error, so that no level but `off` hides that the log has a gap.
  write(LogLevel::error, "log lines dropped", {count});
}

LogWriter::Way LogWriter::way_of(int fd) { return never_blocks(fd) ? Way::whole : Way::nowait; }

LogWriter::Progress LogWriter::write_piece(std::chrono::milliseconds wait) {
  if (way_ == Way::polled && !is_writable(fd_, wait)) return Progress::none;
  const ssize_t written = write_some();
  if (written > 0) {
    unsent_.consume(static_cast<size_t>(written));
    return Progress::some;
  }
  if (written == 0 || errno == EAGAIN) {
    return wait.count() > 0 && is_writable(fd_, wait) ? Progress::some : Progress::none;
  }
  if (errno == EINTR) return Progress::some;
  if (errno == EPIPE || errno == EBADF) {
    // Nobody will ever read what waits; keeping it serves nothing.
    unsent_.clear();
  } else if (way_ == Way::nowait) {
    way_ = Way::polled;  // the kernel, or what filters its calls, does not know the other one here
    return Progress::some;
  }
  return Progress::none;
}

ssize_t LogWriter::write_some() const {
  const std::string_view text = unsent_.view();
  if (way_ == Way::whole) return ::write(fd_, text.data(), text.size());
  const std::string_view piece = first_piece(text, PIPE_BUF);
  if (way_ == Way::polled) return ::write(fd_, piece.data(), piece.size());
  const iovec vector = {const_cast<char*>(piece.data()), piece.size()};
  return pwritev2(fd_, &vector, 1, -1, RWF_NOWAIT);
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

namespace {

void write_to_journal(std::string_view text) {
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    std::fprintf(stderr, "<3>%.*s", static_cast<int>(size), text.data());
    text.remove_prefix(size);
  }
}

}  // namespace

void write_start_error(config::LogFormat format, std::string_view event, std::string_view text,
                       const std::map<std::string, std::string>& environment) {
  if (format == config::LogFormat::text && !is_journal(STDERR_FILENO, environment)) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  if (format == config::LogFormat::text) return write_to_journal(text);
  LogWriter log(STDERR_FILENO, LogLevel::error, format);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    log.write(LogLevel::error, event, {{"error", text.substr(0, end)}});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  log.flush_blocking();
}

}  // namespace stdgate::logs
