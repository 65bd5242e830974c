// AuditFile: the file of an audit: locked, appended to, and where its chain stands; and the
// chain, which binds the lines of an audit to each other.
//
// Job: one writer at a time (flock), whole bytes or an error, never a wait but for the disk. A
// regular file only. Owner: the process, which lends it to its AuditLog. Other programs may read,
// rename and remove it; reopen() then finds the new one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "transports/auth/digest.h"

namespace stdgate::audit {

// --- The chain: each line begins with its number and the SHA-256 of the line before it
//
//   {"sequence":7,"previous":"9f86d081…",…}
//
// A line is hashed without its line end. The rest of a line that a crash has torn has no number;
// the line behind it says how long the rest is ("torn":41) and has its digest.

// Of a whole line: longer ones are not written, and not read either.
inline constexpr size_t kMaxLine = 64 << 10;

// As lower-case hex.
using DigestText = std::array<char, 64>;
inline std::string_view view_of(const DigestText& text) { return {text.data(), text.size()}; }

class Hasher {
 public:
  [[nodiscard]] DigestText of(std::string_view text);

 private:
  auth::Sha256 sha256_;
};

// The end of a chain, which the next line continues.
struct ChainEnd {
  uint64_t sequence = 0;  // of the last line; 0: none
  DigestText digest{};    // of the last line, or of what is left of a torn one

  // The end of a chain without lines.
  static ChainEnd beginning();
};

// The beginning of a line.
struct LineHead {
  uint64_t sequence = 0;
  std::string_view previous;
  size_t torn = 0;  // bytes of the torn line before; 0: none
};

// Nothing: it is no line of an audit.
std::optional<LineHead> read_line_head(std::string_view line);
// Whether `text` may be the beginning of a chain's first line.
bool is_begun_line(std::string_view text);
// Appends `{"sequence":…,"previous":"…"`, the beginning of the line that follows `end`.
void append_line_head(std::string& out, const ChainEnd& end, size_t torn = 0);

class AuditFile {
 public:
  // Makes the file if it is not there, for its user alone. An error says what is wrong, with the
  // name of the file.
  static tl::expected<AuditFile, std::string> open(const std::string& path);
  // Whether open() would do, as far as can be seen without making the file. That another process
  // writes it is no error.
  static tl::expected<void, std::string> check(const std::string& path);
  AuditFile(AuditFile&& other) noexcept;
  AuditFile& operator=(AuditFile&& other) noexcept;
  ~AuditFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Where its chain stood when it was opened. A file without a whole line has the beginning's.
  [[nodiscard]] const ChainEnd& found() const { return found_; }
  // Bytes of a torn line at its end; the digest of found() is theirs then.
  [[nodiscard]] size_t torn() const { return torn_; }

  // Whether the next line needs a line end before it.
  [[nodiscard]] bool lacks_line_end() const { return lacks_line_end_; }

  // Appends what it can; gives how many bytes. Less than all: error() says why.
  size_t append(std::string_view bytes);
  // Waits until all of it is on the disk.
  bool sync();
  [[nodiscard]] int error() const { return error_; }  // errno

  // Whether another file has its name by now, or no file has.
  [[nodiscard]] bool was_moved() const;

 private:
  AuditFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  // False: it cannot be read, or is no audit.
  tl::expected<void, std::string> find_end();
  [[nodiscard]] tl::unexpected<std::string> no_audit() const;
  bool read_tail(std::string& tail, size_t size);

  int fd_;
  std::string path_;
  ChainEnd found_ = ChainEnd::beginning();
  size_t torn_ = 0;
  bool lacks_line_end_ = false;
  int error_ = 0;
};

}  // namespace stdgate::audit
