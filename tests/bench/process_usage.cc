#include "tests/bench/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace stdgate::bench {
namespace {

namespace fs = std::filesystem;

// The readable part of a file. The process may end meanwhile, which makes the stream fail. An
// iterator would throw instead.
std::string read_file(const fs::path& path) {
  const std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Stat {
  pid_t parent = 0;
  double user_s = 0;
  double system_s = 0;
  double waited_user_s = 0;  // of children that have ended and been waited for
  double waited_system_s = 0;
};

std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  // The name may contain any character, but the fields after it contain no parenthesis.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream in(text.substr(name_end + 1));
  char state = 0;
  Stat stat;
  in >> state >> stat.parent;
  std::string skipped;
  for (int field = 5; field < 14; ++field) in >> skipped;
  in >> stat.user_s >> stat.system_s >> stat.waited_user_s >> stat.waited_system_s;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (double* time : {&stat.user_s, &stat.system_s, &stat.waited_user_s, &stat.waited_system_s}) {
    *time /= ticks;
  }
  return stat;
}

// The number in a line such as "VmRSS:     1234 kB", in bytes.
size_t status_bytes(const std::string& status, const std::string& name) {
  const size_t found = status.find(name + ":");
  if (found == std::string::npos) return 0;
  return std::strtoull(status.c_str() + found + name.size() + 1, nullptr, 10) * 1024;
}

void add_memory(pid_t pid, ProcessUsage& usage) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  usage.resident_bytes += status_bytes(status, "VmRSS");
  usage.peak_resident_bytes += status_bytes(status, "VmHWM");
  ++usage.processes;
}

std::map<pid_t, Stat> all_stats() {
  std::map<pid_t, Stat> stats;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
    if (const auto stat = stat_of(pid)) stats.emplace(pid, *stat);
  }
  return stats;
}

}  // namespace

FamilyUsage usage_of(pid_t pid) {
  FamilyUsage usage;
  const std::map<pid_t, Stat> stats = all_stats();
  const auto found = stats.find(pid);
  if (found == stats.end()) return usage;
  usage.process.user_s = found->second.user_s;
  usage.process.system_s = found->second.system_s;
  add_memory(pid, usage.process);
  usage.descendants.user_s = found->second.waited_user_s;
  usage.descendants.system_s = found->second.waited_system_s;
  std::vector<pid_t> family = {pid};
  for (size_t i = 0; i < family.size(); ++i) {
    for (const auto& [each, stat] : stats) {
      if (stat.parent != family[i]) continue;
      family.push_back(each);
      usage.descendants.user_s += stat.user_s + stat.waited_user_s;
      usage.descendants.system_s += stat.system_s + stat.waited_system_s;
      add_memory(each, usage.descendants);
    }
  }
  return usage;
}

ProcessUsage own_usage() {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  ProcessUsage usage;
  usage.user_s = seconds(used.ru_utime);
  usage.system_s = seconds(used.ru_stime);
  return usage;
}

}  // namespace stdgate::bench
