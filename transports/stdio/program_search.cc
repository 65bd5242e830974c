#include "transports/stdio/program_search.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

namespace stdgate::stdio {

namespace {

// BINPRM_BUF_SIZE, what the kernel looks at.
constexpr size_t kMaxHead = 256;
constexpr std::string_view kSpaces = " \t";

// The next word of `rest`; empty: none.
std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kSpaces));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<ScriptHead> ScriptHead::parse(std::string_view text) {
  text = text.substr(0, kMaxHead);
  if (!text.starts_with("#!")) return std::nullopt;
  std::string_view line = text.substr(2, text.find('\n') - 2);
  ScriptHead head;
  head.ends_with_cr = line.ends_with('\r');
  if (head.ends_with_cr) line.remove_suffix(1);
  head.interpreter = take_word(line);
  if (head.interpreter.empty()) return std::nullopt;
  if (!head.interpreter.ends_with("/env")) return head;
  // Past the options of env, and the variables that it sets.
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word.starts_with('-') || word.find('=') != std::string_view::npos) continue;
    head.searched = word;
    break;
  }
  return head;
}

std::optional<ScriptHead> ScriptHead::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMaxHead> head{};
  file.read(head.data(), head.size());
  return parse(std::string_view(head.data(), static_cast<size_t>(file.gcount())));
}

namespace {

// The path of execvp without PATH (glibc, confstr(3)).
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";

using Problem = pool::LaunchProblem;

enum class Found : uint8_t { no, no_file, not_executable, yes };

constexpr std::string_view kByPath =
    "name the program by its path, or set PATH: env: { PATH: \"...\" }";

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
  if (!S_ISREG(facts.st_mode)) return Found::no_file;
  const bool is_executable = spec.user.empty()
                                 ? ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0
                                 : (facts.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  return is_executable ? Found::yes : Found::not_executable;
}

std::string_view path_of(const pool::LaunchSpec& spec) {
  const auto variable = spec.environment.find("PATH");
  return variable == spec.environment.end() ? kDefaultPath : std::string_view(variable->second);
}

// The file that execvp would execute.
struct Place {
  Found found = Found::no;
  std::string file;  // of the first that fits best
};

Place search_path(const pool::LaunchSpec& spec, const std::string& program) {
  Place best;
  for (std::string_view rest = path_of(spec);;) {
    const size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    std::string file =
        absolute(spec, folder.empty() ? program : std::string(folder) + "/" + program);
    const Found found = look_at(spec, file);
    if (found > best.found) best = {found, std::move(file)};
    if (best.found == Found::yes || end == std::string_view::npos) return best;
    rest.remove_prefix(end + 1);
  }
}

Place locate(const pool::LaunchSpec& spec, const std::string& program) {
  if (program.find('/') == std::string::npos) return search_path(spec, program);
  std::string file = absolute(spec, program);
  const Found found = look_at(spec, file);
  return {found, std::move(file)};
}

Problem not_found(const pool::LaunchSpec& spec) {
  const std::string& program = spec.command.front();
  if (program.find('/') != std::string::npos) {
    return {"not-found", "program " + in_quotes(absolute(spec, program)) + " not found",
            "check the path, and cwd"};
  }
  return {"not-found",
          "program " + in_quotes(program) + " not found in PATH " + in_quotes(path_of(spec)),
          std::string(kByPath)};
}

// Its file has been found, and `found` is why it cannot be executed.
Problem not_executable(const Place& place) {
  std::string what = "program " + in_quotes(place.file) + " is not executable";
  if (place.found == Found::no_file) return {"not-executable", what + ": it is no file"};
  const bool is_script = ScriptHead::read(place.file).has_value();
  return {"not-executable", std::move(what),
          "chmod +x it" + std::string(is_script ? ""
                                                : ", or name what runs it in front of it, as "
                                                  "python3 or node")};
}

// Whether the interpreter of an executable script exists.
tl::expected<void, Problem> check_script(const pool::LaunchSpec& spec, const std::string& file) {
  const auto head = ScriptHead::read(file);
  if (!head) return {};
  if (head->ends_with_cr) {
    return tl::unexpected(
        Problem{"bad-interpreter",
                "the lines of " + in_quotes(file) + " end with CR LF, as on Windows: no " +
                    in_quotes(head->interpreter + "\\r") + " is there to run it",
                "convert it (sed -i 's/\\r$//' FILE), or name what runs it in front of it"});
  }
  const bool is_there = look_at(spec, absolute(spec, head->interpreter)) == Found::yes;
  const bool is_found = head->searched.empty() || locate(spec, head->searched).found == Found::yes;
  if (is_there && is_found) return {};
  const std::string& missing = is_there ? head->searched : head->interpreter;
  return tl::unexpected(Problem{"bad-interpreter",
                                "the first line of " + in_quotes(file) + " names " +
                                    in_quotes(missing) + ", which is not there to run it" +
                                    (is_there ? ", in PATH " + in_quotes(path_of(spec)) : ""),
                                "install it, or name what runs the script in front of it"});
}

}  // namespace

std::string locate_program(const pool::LaunchSpec& spec) {
  Place place = locate(spec, spec.command.front());
  return place.found == Found::no ? std::string() : std::move(place.file);
}

bool is_command_line(const pool::LaunchSpec& spec) {
  const std::string& program = spec.command.front();
  const size_t space = program.find_first_of(" \t");
  if (space == std::string::npos || space == 0) return false;
  if (locate(spec, program).found != Found::no) return false;
  const std::string first = program.substr(0, space);
  return first.find('/') == std::string::npos || locate(spec, first).found != Found::no;
}

pool::LaunchProblem command_line_problem(const std::string& program) {
  return {"one-word", "program " + in_quotes(program) + " is a whole command line in one word",
          "write its words apart: without quotes around all of them behind --, in gateway.yaml as "
          "command: [npx, -y, server]"};
}

tl::expected<void, pool::LaunchProblem> find_program(const pool::LaunchSpec& spec) {
  const std::string& user = spec.user;
  if (!user.empty() && !is_number(user) && ::getpwnam(user.c_str()) == nullptr) {
    return tl::unexpected(Problem{"not-started", "user " + in_quotes(user) + " does not exist"});
  }
  if (!spec.working_directory.empty() && !is_directory(spec.working_directory)) {
    return tl::unexpected(
        Problem{"not-started", "cwd " + in_quotes(spec.working_directory) + " is no directory"});
  }
  if (is_command_line(spec)) return tl::unexpected(command_line_problem(spec.command.front()));
  const Place place = locate(spec, spec.command.front());
  if (place.found == Found::no) return tl::unexpected(not_found(spec));
  if (place.found != Found::yes) return tl::unexpected(not_executable(place));
  return check_script(spec, place.file);
}

}  // namespace stdgate::stdio
