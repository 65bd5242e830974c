#include "gateway/app/system_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace stdgate::app {

namespace {

using Bytes = std::array<char, 4096>;

// The beginning of a short file of the kernel's, in `bytes`; empty: it is not there.
std::string_view read_start(const std::string& path, Bytes& bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(0, count))};
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// The least that `file` says in the group and those that it is in. "max" is no number, and version
// 1 has a number beyond all memory for it.
uint64_t least_limit(const std::string& mount, std::string group, const std::string& file) {
  uint64_t least = UINT64_MAX;
  while (true) {
    std::string path = mount;
    path.append(group).append("/").append(file);
    Bytes bytes;
    if (const auto limit = number_in(read_start(path, bytes))) {
      least = std::min(least, *limit);
    }
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

uint64_t SystemMemory::used() {
  // size resident shared …, in pages
  Bytes bytes;
  const std::string_view statm = read_start(statm_, bytes);
  const size_t space = statm.find(' ');
  if (space == std::string::npos) return 0;
  const auto pages = number_in(statm.substr(space + 1));
  return pages.value_or(0) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

Duration SystemMemory::give_back() {
  const auto begin = std::chrono::steady_clock::now();
  ::malloc_trim(0);
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
}

uint64_t SystemMemory::whole() {
  uint64_t whole = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                   static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  Bytes bytes;
  const std::string_view groups = read_start(root_ + "/proc/self/cgroup", bytes);
  const std::string mount = root_ + "/sys/fs/cgroup";
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t controllers = line.find(':') + 1;
    const size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string group(line.substr(path) == "/" ? "" : line.substr(path));
    const std::string_view names = line.substr(controllers, path - 1 - controllers);
    if (names.empty()) whole = std::min(whole, least_limit(mount, group, "memory.max"));
    if (names == "memory") {
      whole = std::min(whole, least_limit(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return whole;
}

}  // namespace stdgate::app
