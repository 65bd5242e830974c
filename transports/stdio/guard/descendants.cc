#include "transports/stdio/guard/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "transports/net/file_descriptor.h"

namespace stdgate::guard {

namespace {

// Of a living process; 0 when it is gone.
pid_t parent_of(pid_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  const net::FileDescriptor fd(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!fd.is_open() || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  // "PID (NAME) STATE PARENT ...": the name may hold anything, ")" too.
  const char* const name_end = std::strrchr(text.data(), ')');
  if (name_end == nullptr || std::strlen(name_end) < 4) return 0;
  return std::atoi(name_end + 4);
}

}  // namespace

void signal_children(int signal) {
  const net::FileDescriptor list(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  if (!list.is_open()) return signal_children_by_scan(signal);
  std::array<char, 4096> chunk;
  pid_t pid = 0;  // the digits so far, as a chunk may end inside of a number
  ssize_t count = 0;
  while ((count = ::read(list.get(), chunk.data(), chunk.size())) > 0) {
    for (ssize_t i = 0; i < count; ++i) {
      const char byte = chunk[static_cast<size_t>(i)];
      if (byte >= '0' && byte <= '9') {
        pid = pid * 10 + (byte - '0');
      } else if (pid > 0) {
        ::kill(pid, signal);
        pid = 0;
      }
    }
  }
}

void signal_children_by_scan(int signal) {
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == self) ::kill(pid, signal);
  }
  ::closedir(processes);
}

}  // namespace stdgate::guard
