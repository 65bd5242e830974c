// The machine's processes, read from /proc, for tests that count what a gateway has left behind.
// Also kSanitized.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::harness {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';     // of proc(5): R, S, D, Z, …
  std::string command;  // arguments joined by spaces; empty for a zombie
};

// Processes with `mark` in their arguments, environment or working directory. Zombies have none of
// these, see children_of().
std::vector<ProcessInfo> processes_marked(std::string_view mark);

// The direct children of `parent`, zombies included.
std::vector<ProcessInfo> children_of(pid_t parent);

// Memory of a process in bytes (proc(5): VmRSS, VmHWM); 0: the process is gone.
size_t resident_bytes(pid_t pid);
size_t peak_resident_bytes(pid_t pid);
// Bytes that a process has written to files, pipes and sockets (proc(5): wchar).
size_t bytes_written_by(pid_t pid);

// Reads a file as far as possible, with read(), because iterators would throw if the process ends
// meanwhile. Empty if the file does not exist, or if it belongs to a process that is gone or of
// another user. Incomplete if the process ends meanwhile.
std::string read_file(const std::filesystem::path& path);

// One line per process, for messages.
std::string describe(const std::vector<ProcessInfo>& processes);

// Whether the gateway under test is built with the address sanitizer. The sanitizer keeps freed
// memory, so figures of memory mean nothing, and it loads its own libraries.

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace stdgate::harness
