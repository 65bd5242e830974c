#include "transports/stdio/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transports/net/file_descriptor.h"

namespace stdgate::stdio {

std::optional<std::string> read_whole(const std::string& path) {
  const net::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return std::nullopt;
  std::string text;
  std::array<char, 4096> chunk;
  ssize_t count = 0;
  while ((count = ::read(fd.get(), chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<size_t>(count));
  }
  return text;
}

namespace {

// Takes the next number of a list that spaces separate; nothing at its end.
std::optional<uint64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return value;
}

// The directory entries that are numbers.
std::optional<std::vector<pid_t>> numbered_entries(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (directory == nullptr) return std::nullopt;
  std::vector<pid_t> numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (const auto number = take_number(name)) numbers.push_back(static_cast<pid_t>(*number));
  }
  return numbers;
}

std::string proc_path(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

// /proc/<pid>/stat from field 4 (ppid) on. The name before it may hold anything, ")" too.
struct Stat {
  static constexpr size_t kParent = 0;
  static constexpr size_t kFirstTime = 10;  // utime, stime, cutime, cstime
  std::array<uint64_t, 14> fields{};
};

std::optional<Stat> read_stat(pid_t pid) {
  const std::optional<std::string> text = read_whole(proc_path(pid, "stat"));
  if (!text) return std::nullopt;
  const size_t name_end = text->rfind(')');
  constexpr std::string_view kStateField = ") S";
  if (name_end == std::string::npos || text->size() < name_end + kStateField.size()) {
    return std::nullopt;
  }
  std::string_view rest = std::string_view(*text).substr(name_end + kStateField.size());
  Stat stat;
  for (uint64_t& field : stat.fields) {
    // tpgid is -1 for a process without a terminal.
    rest.remove_prefix(std::min(rest.find_first_not_of(" -"), rest.size()));
    const auto number = take_number(rest);
    if (!number) return std::nullopt;
    field = *number;
  }
  return stat;
}

}  // namespace

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  const auto threads = numbered_entries(proc_path(pid, "task"));
  if (!threads) return children;
  for (const pid_t thread : *threads) {
    const auto list = read_whole(proc_path(pid, "task/" + std::to_string(thread) + "/children"));
    if (!list) return children_by_scan(pid);
    std::string_view rest = *list;
    while (const auto child = take_number(rest)) children.push_back(static_cast<pid_t>(*child));
  }
  return children;
}

std::vector<pid_t> children_by_scan(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t candidate : numbered_entries("/proc").value_or(std::vector<pid_t>())) {
    const auto stat = read_stat(candidate);
    if (stat && static_cast<pid_t>(stat->fields[Stat::kParent]) == pid) {
      children.push_back(candidate);
    }
  }
  return children;
}

ProcessUsage process_tree_usage(pid_t root) {
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page_size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  ProcessUsage usage;
  std::vector<pid_t> to_visit{root};
  while (!to_visit.empty()) {
    const pid_t pid = to_visit.back();
    to_visit.pop_back();
    if (const auto stat = read_stat(pid)) {
      uint64_t ticks = 0;
      for (size_t i = 0; i < 4; ++i) ticks += stat->fields[Stat::kFirstTime + i];
      usage.cpu_seconds += static_cast<double>(ticks) / ticks_per_second;
    }
    if (const auto statm = read_whole(proc_path(pid, "statm"))) {
      std::string_view rest = *statm;
      take_number(rest);  // the size of its address space
      usage.resident_bytes += take_number(rest).value_or(0) * page_size;
    }
    const std::vector<pid_t> children = children_of(pid);
    to_visit.insert(to_visit.end(), children.begin(), children.end());
  }
  return usage;
}

}  // namespace stdgate::stdio
