// The machine's processes through /proc, to count what a gateway has left behind; and whether the
// gateway is built with the address sanitizer.
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
  std::string command;  // arguments, joined by spaces; empty for a zombie
};

// Processes that carry `mark` in their arguments, their environment or their working directory. A
// zombie carries nothing any more: see children_of().
std::vector<ProcessInfo> processes_marked(std::string_view mark);

// The direct children of `parent`, zombies included.
std::vector<ProcessInfo> children_of(pid_t parent);

// Memory of a living process in bytes; 0: the process is gone (proc(5): VmRSS, VmHWM).
size_t resident_bytes(pid_t pid);
size_t peak_resident_bytes(pid_t pid);
// Bytes that a process has written so far, to files, pipes and sockets (proc(5): wchar).
size_t bytes_written_by(pid_t pid);

// The content of a file, as far as it can be read. Empty: there is no such file, or it belongs to a
// process that is gone or of another user. Part of the file: the process has ended meanwhile. Uses
// read(), because iterators would throw then.
std::string read_file(const std::filesystem::path& path);

// One line a process, for messages.
std::string describe(const std::vector<ProcessInfo>& processes);

// Whether the gateway under test has been built with the address sanitizer. The sanitizer keeps
// memory that is freed, so that figures of memory say nothing, and brings libraries of its own.

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
