#include "transports/stdio/program_search.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace stdgate::stdio {

namespace {

// execvp's own, where there is no PATH (glibc, confstr(3)).
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";

enum class Found : uint8_t { no, not_executable, yes };

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_directory(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// `path`, resolved against the spec's working directory.
std::string absolute(const pool::LaunchSpec& spec, std::string_view path) {
  const bool is_relative = !path.starts_with('/') && !spec.working_directory.empty();
  return is_relative ? spec.working_directory + "/" + std::string(path) : std::string(path);
}

Found look_at(const pool::LaunchSpec& spec, const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return Found::no;
  if (!S_ISREG(facts.st_mode)) return Found::not_executable;
  const bool is_executable = spec.user.empty()
                                 ? ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0
                                 : (facts.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  return is_executable ? Found::yes : Found::not_executable;
}

tl::unexpected<std::string> not_executable(const std::string& path) {
  return tl::unexpected("program " + in_quotes(path) + " is not executable");
}

tl::expected<void, std::string> search_path(const pool::LaunchSpec& spec,
                                            const std::string& program) {
  const auto variable = spec.environment.find("PATH");
  const std::string path(variable == spec.environment.end() ? kDefaultPath : variable->second);
  std::string unfit;
  for (std::string_view rest = path;;) {
    const size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    const std::string file =
        absolute(spec, folder.empty() ? program : std::string(folder) + "/" + program);
    const Found found = look_at(spec, file);
    if (found == Found::yes) return {};
    if (found == Found::not_executable && unfit.empty()) unfit = file;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (!unfit.empty()) return not_executable(unfit);
  return tl::unexpected("program " + in_quotes(program) + " not found in PATH " + in_quotes(path));
}

}  // namespace

tl::expected<void, std::string> find_program(const pool::LaunchSpec& spec) {
  const std::string& user = spec.user;
  if (!user.empty() && !is_number(user) && ::getpwnam(user.c_str()) == nullptr) {
    return tl::unexpected("user " + in_quotes(user) + " does not exist");
  }
  if (!spec.working_directory.empty() && !is_directory(spec.working_directory)) {
    return tl::unexpected("cwd " + in_quotes(spec.working_directory) + " is no directory");
  }
  const std::string& program = spec.command.front();
  if (program.find('/') == std::string::npos) return search_path(spec, program);
  const std::string file = absolute(spec, program);
  switch (look_at(spec, file)) {
    case Found::yes:
      return {};
    case Found::not_executable:
      return not_executable(file);
    case Found::no:
      break;
  }
  return tl::unexpected("program " + in_quotes(file) + " not found");
}

}  // namespace stdgate::stdio
