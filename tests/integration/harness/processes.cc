#include "tests/integration/harness/processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace stdgate::harness {

namespace {

namespace fs = std::filesystem;

std::optional<pid_t> pid_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size()) {
    return std::nullopt;
  }
  return pid;
}

std::optional<ProcessInfo> process_in(const fs::path& folder) {
  const std::optional<pid_t> pid = pid_of(folder);
  if (!pid) {
    return std::nullopt;
  }
  ProcessInfo process;
  process.pid = *pid;
  // The name in parentheses may contain any character, even parentheses. The fields after it
  // contain none.
  const std::string stat = read_file(folder / "stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(stat.substr(name_end + 1));
  fields >> process.state >> process.parent;
  process.command = read_file(folder / "cmdline");
  std::replace(process.command.begin(), process.command.end(), '\0', ' ');
  return process;
}

bool is_marked(const fs::path& folder, const ProcessInfo& process, std::string_view mark) {
  std::error_code gone;
  return process.command.find(mark) != std::string::npos ||
         read_file(folder / "environ").find(mark) != std::string::npos ||
         fs::read_symlink(folder / "cwd", gone).string().find(mark) != std::string::npos;
}

template <typename Predicate>
std::vector<ProcessInfo> processes_where(const Predicate& wanted) {
  std::vector<ProcessInfo> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::optional<ProcessInfo> process = process_in(entry.path());
    if (process && wanted(entry.path(), *process)) {
      found.push_back(*process);
    }
  }
  return found;
}

// The number after "NAME:" in a file of /proc/PID.
size_t number_in(pid_t pid, const char* file, const std::string& name) {
  std::istringstream words(read_file(fs::path("/proc") / std::to_string(pid) / file));
  size_t number = 0;
  for (std::string word; words >> word;) {
    if (word == name + ":") words >> number;
  }
  return number;
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> piece = {};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(in.gcount()));
  }
  return text;
}

std::vector<ProcessInfo> processes_marked(std::string_view mark) {
  return processes_where([mark](const fs::path& folder, const ProcessInfo& process) {
    return is_marked(folder, process, mark);
  });
}

std::vector<ProcessInfo> children_of(pid_t parent) {
  return processes_where([parent](const fs::path& /*folder*/, const ProcessInfo& process) {
    return process.parent == parent;
  });
}

size_t resident_bytes(pid_t pid) { return number_in(pid, "status", "VmRSS") * 1024; }

size_t peak_resident_bytes(pid_t pid) { return number_in(pid, "status", "VmHWM") * 1024; }

size_t bytes_written_by(pid_t pid) { return number_in(pid, "io", "wchar"); }

std::string describe(const std::vector<ProcessInfo>& processes) {
  std::ostringstream text;
  for (const ProcessInfo& process : processes) {
    text << process.pid << " (" << process.state << ", child of " << process.parent << ") "
         << process.command << "\n";
  }
  return text.str();
}

}  // namespace stdgate::harness
