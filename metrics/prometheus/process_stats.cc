#include "metrics/prometheus/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace stdgate::metrics {
namespace {

// Fields of /proc/self/stat, counted from 1 as in proc(5).
constexpr size_t kFirstFieldBehindName = 3;
constexpr size_t kUserTime = 14;
constexpr size_t kSystemTime = 15;
constexpr size_t kStartTime = 22;
constexpr size_t kVirtualSize = 23;
constexpr size_t kResidentPages = 24;

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// The word at `position`, counted from 0; empty when there are fewer.
std::string_view word_at(std::string_view line, size_t position) {
  for (;; --position) {
    const size_t space = line.find(' ');
    if (position == 0) return line.substr(0, space);
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space + 1);
  }
}

// Seconds since the epoch at which the machine started; the line "btime 1700000000" of /proc/stat.
std::optional<uint64_t> read_boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return to_number(std::string_view(line).substr(6));
  }
  return std::nullopt;
}

uint64_t count_open_fds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that reads the directory
}

uint64_t read_max_fds() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

std::optional<ProcessStats> read_process_stats() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  // The second field is the program's name in parentheses, which may hold both ')' and spaces.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::string_view behind_name = std::string_view(stat).substr(name_end + 2);
  const auto field = [&](size_t number) {
    return to_number(word_at(behind_name, number - kFirstFieldBehindName));
  };
  const auto user = field(kUserTime);
  const auto system = field(kSystemTime);
  const auto start = field(kStartTime);
  const auto virtual_size = field(kVirtualSize);
  const auto resident_pages = field(kResidentPages);
  const auto boot = read_boot_time();
  if (!user || !system || !start || !virtual_size || !resident_pages || !boot) return std::nullopt;

  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessStats stats;
  stats.cpu_seconds = static_cast<double>(*user + *system) / ticks;
  stats.start_time_seconds = static_cast<double>(*boot) + static_cast<double>(*start) / ticks;
  stats.resident_bytes = *resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  stats.virtual_bytes = *virtual_size;
  stats.open_fds = count_open_fds();
  stats.max_fds = read_max_fds();
  return stats;
}

}  // namespace stdgate::metrics
