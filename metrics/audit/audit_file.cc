#include "metrics/audit/audit_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

namespace stdgate::audit {
namespace {

constexpr std::string_view kSequence = R"({"sequence":)";
constexpr std::string_view kPrevious = R"(,"previous":")";
constexpr std::string_view kTorn = R"(","torn":)";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Takes `expected` from the front of `text`; false: it is not there.
bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool is_digest(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return kHexDigits.find(c) != std::string_view::npos; });
}

// A torn line and the whole one before it.
constexpr size_t kTail = 2 * kMaxLine + 2;

std::string problem(const std::string& path, std::string_view what) {
  return path + ": " + std::string(what);
}

// Takes the last line, which may lack its end, from `text`.
std::string_view take_last_line(std::string_view& text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const size_t at = text.rfind('\n') + 1;  // 0: it is the only one
  const std::string_view line = text.substr(at);
  text = text.substr(0, at);
  return line;
}

}  // namespace

DigestText Hasher::of(std::string_view text) {
  DigestText out{};
  size_t at = 0;
  for (const uint8_t byte : sha256_.of(text)) {
    out[at++] = kHexDigits[byte >> 4];
    out[at++] = kHexDigits[byte & 15];
  }
  return out;
}

ChainEnd ChainEnd::beginning() {
  ChainEnd end;
  end.digest.fill('0');
  return end;
}

std::optional<LineHead> read_line_head(std::string_view line) {
  LineHead head;
  if (line.size() > kMaxLine || !line.ends_with('}')) return std::nullopt;
  if (!take(line, kSequence) || !take_number(line, head.sequence) || head.sequence == 0 ||
      !take(line, kPrevious)) {
    return std::nullopt;
  }
  head.previous = line.substr(0, DigestText().size());
  if (head.previous.size() < DigestText().size() || !is_digest(head.previous)) return std::nullopt;
  line.remove_prefix(head.previous.size());
  if (take(line, kTorn)) {
    if (!take_number(line, head.torn) || head.torn == 0) return std::nullopt;
    return line.starts_with(',') ? std::optional(head) : std::nullopt;
  }
  return line.starts_with("\",") ? std::optional(head) : std::nullopt;
}

bool is_begun_line(std::string_view text) {
  return text.starts_with(kSequence) || (!text.empty() && kSequence.starts_with(text));
}

void append_line_head(std::string& out, const ChainEnd& end, size_t torn) {
  out.append(kSequence).append(std::to_string(end.sequence + 1));
  out.append(kPrevious).append(view_of(end.digest));
  if (torn == 0) {
    out += '"';
  } else {
    out.append(kTorn).append(std::to_string(torn));
  }
}

AuditFile::AuditFile(AuditFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      found_(other.found_),
      torn_(other.torn_),
      lacks_line_end_(other.lacks_line_end_),
      error_(other.error_) {}

AuditFile& AuditFile::operator=(AuditFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  path_ = std::move(other.path_);
  found_ = other.found_;
  torn_ = other.torn_;
  lacks_line_end_ = other.lacks_line_end_;
  error_ = other.error_;
  return *this;
}

AuditFile::~AuditFile() {
  if (fd_ >= 0) ::close(fd_);
}

tl::expected<AuditFile, std::string> AuditFile::open(const std::string& path) {
  // Without waiting for the other end of a named pipe, which is refused below.
  const int fd =
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  if (fd < 0) return tl::unexpected(problem(path, std::strerror(errno)));
  AuditFile file(fd, path);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return tl::unexpected(problem(path, std::strerror(errno)));
  if (!S_ISREG(facts.st_mode)) return tl::unexpected(problem(path, "no regular file"));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(problem(
        path, errno == EWOULDBLOCK ? "another process writes this audit" : std::strerror(errno)));
  }
  if (auto found = file.find_end(); !found) return tl::unexpected(std::move(found.error()));
  return file;
}

tl::expected<void, std::string> AuditFile::check(const std::string& path) {
  const auto fail = [&path](std::string_view what) { return tl::unexpected(problem(path, what)); };
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const bool may_make =
        ::faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
    return may_make ? tl::expected<void, std::string>() : fail(std::strerror(errno));
  }
  if (fd < 0) return fail(std::strerror(errno));
  AuditFile file(fd, path);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return fail(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return fail("no regular file");
  return file.find_end();
}

bool AuditFile::read_tail(std::string& tail, size_t size) {
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  if (end < 0) return false;
  const auto from = std::max<off_t>(0, end - static_cast<off_t>(size));
  tail.resize(static_cast<size_t>(end - from));
  size_t read = 0;
  while (read < tail.size()) {
    const ssize_t count =
        ::pread(fd_, tail.data() + read, tail.size() - read, from + static_cast<off_t>(read));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    read += static_cast<size_t>(count);
  }
  return true;
}

tl::expected<void, std::string> AuditFile::find_end() {
  std::string tail;
  if (!read_tail(tail, kTail)) return tl::unexpected(problem(path_, std::strerror(errno)));
  if (tail.empty()) return {};
  Hasher hasher;
  std::string_view text = tail;
  lacks_line_end_ = !text.ends_with('\n');
  std::string_view last = take_last_line(text);
  // Text without a line end was not written to its end. Nor was a text that is no line of an audit:
  // the crash may have come while its line end was supplied.
  if (lacks_line_end_ || !read_line_head(last)) {
    if (last.size() > kMaxLine || (text.empty() && !is_begun_line(last))) return no_audit();
    torn_ = last.size();
    found_.digest = hasher.of(last);
    if (text.empty()) return {};
    last = take_last_line(text);
  }
  const auto head = read_line_head(last);
  if (!head) return no_audit();
  found_.sequence = head->sequence;
  if (torn_ == 0) found_.digest = hasher.of(last);
  return {};
}

tl::unexpected<std::string> AuditFile::no_audit() const {
  return tl::unexpected(problem(path_, "no audit: it does not end with a line of one"));
}

size_t AuditFile::append(std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(fd_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_ = count == 0 ? ENOSPC : errno;
      break;
    }
    written += static_cast<size_t>(count);
  }
  return written;
}

bool AuditFile::sync() {
  if (::fdatasync(fd_) == 0) return true;
  error_ = errno;
  return false;
}

bool AuditFile::was_moved() const {
  struct stat named {};
  struct stat open {};
  if (::fstat(fd_, &open) != 0 || ::stat(path_.c_str(), &named) != 0) return true;
  return named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

}  // namespace stdgate::audit
