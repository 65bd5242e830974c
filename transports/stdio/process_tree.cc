#include "transports/stdio/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

namespace {

std::string read(const std::string& path) { return read_whole(path).value_or(std::string()); }

// The rest of the line that begins with `key`; nothing: there is no such line.
std::optional<std::string_view> line_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return line.substr(key.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

uint64_t number_of(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whether a list of controllers includes memory.
bool names_memory(const std::string& path) {
  return read(path).find("memory") != std::string::npos;
}

bool write(const std::string& path, std::string_view text) {
  const net::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// systemd marks what it delegates. Without the mark, a cgroup that can be written is another
// program's to divide.
bool is_delegated(const std::string& directory) {
  for (const char* const mark : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(directory.c_str(), mark, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

bool make_directory(const std::string& path) {
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

// Moves all processes of a cgroup to another one.
void move_all(const std::string& from, const std::string& to) {
  const std::string list = read(from + "/cgroup.procs");
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view pid = rest.substr(0, rest.find('\n'));
    write(to + "/cgroup.procs", pid);
    rest.remove_prefix(std::min(pid.size() + 1, rest.size()));
  }
}

// The cgroup that is to be divided; empty: none.
std::string find_base(const CgroupPlaces& places) {
  const std::string text = read(places.own);
  const auto path = line_of(text, "0::");
  if (!path) return {};
  const std::string own = places.mount + (*path == "/" ? std::string() : std::string(*path));
  const std::string leaf = std::string("/") + ChildCgroups::kOwnName;
  const std::string base = own.ends_with(leaf) ? own.substr(0, own.size() - leaf.size()) : own;
  return is_delegated(base) && names_memory(base + "/cgroup.controllers") ? base : std::string();
}

constexpr Duration kInterval = std::chrono::seconds(1);

struct Reading {
  uint64_t number;
  pid_t guard;
  std::string cgroup;
  uint64_t bytes = 0;
};

uint64_t measure(const Reading& one) {
  if (!one.cgroup.empty()) {
    if (const auto bytes = ChildCgroups::memory_of(one.cgroup)) return *bytes;
  }
  return process_tree_usage(one.guard).resident_bytes;
}

}  // namespace

void ChildCgroups::prepare() {
  is_prepared_ = true;
  const std::string base = find_base(places_);
  const std::string control = base + "/cgroup.subtree_control";
  if (!base.empty() && !names_memory(control)) {
    const std::string own = base + "/" + kOwnName;
    if (make_directory(own)) move_all(base, own);
    write(control, "+memory");
  }
  if (!base.empty() && names_memory(control)) base_ = base;
  log_.write(LogLevel::info, "memory of children",
             {{"figure", std::string_view(base_.empty() ? "/proc" : "cgroup")},
              {"cgroup", std::string_view(base_)}});
}

std::string ChildCgroups::make() {
  if (!is_prepared_) prepare();
  sweep();
  if (base_.empty()) return {};
  std::string directory =
      base_ + "/child-" + std::to_string(::getpid()) + "-" + std::to_string(++made_);
  return make_directory(directory) ? directory : std::string();
}

// A cgroup with processes that are about to end cannot be removed yet.
void ChildCgroups::remove(std::string directory) {
  if (!directory.empty()) gone_.push_back(std::move(directory));
  sweep();
}

void ChildCgroups::sweep() {
  std::erase_if(gone_, [](const std::string& directory) {
    return ::rmdir(directory.c_str()) == 0 || errno != EBUSY;
  });
}

std::optional<uint64_t> ChildCgroups::memory_of(const std::string& directory) {
  const uint64_t all = number_of(read(directory + "/memory.current"));
  if (all == 0) return std::nullopt;
  const std::string parts = read(directory + "/memory.stat");
  uint64_t files = 0;
  for (const std::string_view key : {"active_file ", "inactive_file "}) {
    files += number_of(line_of(parts, key).value_or(std::string_view()));
  }
  return all - std::min(all, files);
}

MemoryWatch::MemoryWatch(net::Loop& loop, Log& log, CgroupPlaces places)
    : loop_(loop),
      errands_(loop),
      cgroups_(log, std::move(places)),
      timer_(loop.timers(), [this] { look(); }) {}

void MemoryWatch::watch(pid_t guard, std::string cgroup, pool::ChildEvents& events) {
  watched_.emplace(++last_, Watched{guard, std::move(cgroup), &events});
  if (!timer_.armed() && !is_looking_) timer_.arm(loop_.now() + kInterval);
}

void MemoryWatch::forget(const pool::ChildEvents& events) {
  std::erase_if(watched_, [&](auto& one) {
    if (one.second.events != &events) return false;
    cgroups_.remove(std::move(one.second.cgroup));
    return true;
  });
}

void MemoryWatch::look() {
  if (watched_.empty()) return;
  is_looking_ = true;
  auto readings = std::make_shared<std::vector<Reading>>();
  for (const auto& [number, one] : watched_) {
    readings->push_back({number, one.guard, one.cgroup});
  }
  const auto read = [readings] {
    for (Reading& one : *readings) one.bytes = measure(one);
  };
  errands_.start(read, [this, readings] {
    is_looking_ = false;
    for (const Reading& one : *readings) {
      // The child may have ended meanwhile.
      const auto found = watched_.find(one.number);
      if (found != watched_.end() && one.bytes > 0) found->second.events->on_memory(one.bytes);
    }
    if (!watched_.empty()) timer_.arm(loop_.now() + kInterval);
  });
}

void UsageLedger::open(std::string_view backend, pid_t guard) {
  accounts_.try_emplace(std::string(backend)).first->second.trees.push_back({guard, 0});
}

void UsageLedger::close(std::string_view backend, pid_t guard, double cpu_seconds) {
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return;
  std::vector<Tree>& trees = account->second.trees;
  const auto tree = std::ranges::find(trees, guard, &Tree::guard);
  if (tree == trees.end()) return;
  account->second.ended_cpu_seconds += std::max(cpu_seconds, tree->cpu_seconds);
  trees.erase(tree);
}

ProcessUsage UsageLedger::usage(std::string_view backend) {
  ProcessUsage sum;
  const auto account = accounts_.find(backend);
  if (account == accounts_.end()) return sum;
  sum.cpu_seconds = account->second.ended_cpu_seconds;
  for (Tree& tree : account->second.trees) {
    const ProcessUsage usage = process_tree_usage(tree.guard);
    tree.cpu_seconds = std::max(tree.cpu_seconds, usage.cpu_seconds);
    sum.cpu_seconds += tree.cpu_seconds;
    sum.resident_bytes += usage.resident_bytes;
  }
  return sum;
}

}  // namespace stdgate::stdio
