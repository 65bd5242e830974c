#include "transports/stdio/command_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include "gateway/base/encodings.h"
#include "gateway/base/text.h"

namespace stdgate::stdio {

namespace {

// Whether a text ends with ":LINE:COLUMN".
bool ends_with_place(std::string_view text) {
  for (int part = 0; part < 2; ++part) {
    const size_t digits = text.size() - (text.find_last_not_of("0123456789") + 1);
    text.remove_suffix(digits);
    if (digits == 0 || !text.ends_with(':')) return false;
    text.remove_suffix(1);
  }
  return true;
}

// A frame of a stack as JavaScript and Java print it, "  at f (place)" or "  at file:1:2", or the
// last line of a Node.js that crashes.
bool follows_reason(std::string_view line) {
  const std::string_view text = trim(line, " \t");
  if (text.starts_with("Node.js v")) return true;
  const bool names_place =
      (text.ends_with(')') && text.find('(') != std::string_view::npos) || ends_with_place(text);
  return text.size() < line.size() && text.starts_with("at ") && names_place;
}

}  // namespace

CommandOutput::CommandOutput(net::Loop& loop, const std::string& command, Duration time,
                             std::function<void(Result)> done)
    : loop_(loop),
      due_(loop.now() + time),
      done_(std::move(done)),
      timer_(loop.timers(), [this] { look(); }) {
  start(command);
  timer_.arm(pid_ < 0 ? loop.now() : due_);
}

CommandOutput::~CommandOutput() { kill_all(); }

void CommandOutput::start(const std::string& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Those that this process ignores.
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const std::string shell = "sh";
  const std::string option = "-c";
  const std::array<char*, 4> arguments{const_cast<char*>(shell.c_str()),
                                       const_cast<char*>(option.c_str()),
                                       const_cast<char*>(command.c_str()), nullptr};
  if (::posix_spawn(&pid_, "/bin/sh", &files, &attributes, arguments.data(), environ) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  int error = 0;
  stream_ = net::ByteStream::adopt(loop_, ends[0], net::ByteStream::Kind::pipe, *this, &error);
  if (stream_ != nullptr) stream_->resume_read(net::Stream::kNotStarted);
}

void CommandOutput::on_bytes(std::span<char> bytes) {
  output_.append(bytes.data(), bytes.size());
  if (output_.size() > kMaxOutput) finish(tl::unexpected<std::string>("it prints too much"));
}

// The command has closed its output, or a moment has passed since.
void CommandOutput::look() {
  if (done_ == nullptr) return;
  if (pid_ < 0) return finish(tl::unexpected<std::string>("it cannot be started"));
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    if (loop_.now() >= due_) return finish(tl::unexpected<std::string>("it takes too long"));
    timer_.arm(std::min(due_, loop_.now() + kPoll));
    return;
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return finish(std::move(output_));
  finish(tl::unexpected(WIFEXITED(status)
                            ? "it failed with exit code " + std::to_string(WEXITSTATUS(status))
                            : "it was ended by signal " + std::to_string(WTERMSIG(status))));
}

void CommandOutput::finish(Result result) {
  timer_.disarm();
  if (stream_ != nullptr) stream_->close();
  kill_all();
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(result));
}

void CommandOutput::kill_all() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void StderrLog::add(std::string_view bytes, TimePoint now) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    line_.append(piece.substr(0, std::min(piece.size(), kMaxLine - line_.size())));
    if (end == std::string_view::npos) return;
    end_line(now);
    bytes.remove_prefix(end + 1);
  }
}

void StderrLog::end(TimePoint now) {
  end_line(now);
  tell_suppressed();
}

void StderrLog::end_line(TimePoint now) {
  // Not in the middle of a character, when the limit has cut the line.
  if (line_.size() == kMaxLine) line_.resize(line_.size() - incomplete_utf8_tail(line_));
  if (line_.ends_with('\r')) line_.pop_back();
  keep_line();
  if (!line_.empty() && rate_.allow(now)) {
    tell_suppressed();
    log_.write(LogLevel::info, "child stderr",
               {{"backend", backend_},
                {"child", if_any(name_.number)},
                {"pid", pid_},
                {"session", if_any(name_.session.view())},
                {"client", if_any(name_.client)},
                {"principal", if_any(name_.principal)},
                {"probe", if_any(name_.probe)},
                {"line", std::string_view(line_)}});
  }
  line_.clear();
}

void StderrLog::keep_line() {
  if (trim(line_, " \t").empty() || follows_reason(line_)) return;
  if (last_lines_.size() == kMaxLastLines) last_lines_.pop_front();
  last_lines_.emplace_back(cut_utf8(line_, kMaxLastLine));
}

void StderrLog::tell_suppressed() {
  const uint64_t lines = rate_.take_suppressed();
  if (lines == 0) return;
  log_.write(LogLevel::warn, "child stderr suppressed",
             {{"backend", backend_},
              {"child", if_any(name_.number)},
              {"pid", pid_},
              {"session", if_any(name_.session.view())},
              {"lines", lines}});
}

}  // namespace stdgate::stdio
