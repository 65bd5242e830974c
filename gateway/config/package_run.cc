#include "gateway/config/package_run.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace stdgate::config {

namespace {

struct Runner {
  std::string_view program;
  std::string_view word;  // behind it; empty: none is needed
  bool is_npm = false;    // asks before it installs, unless it is told
};

constexpr std::array kRunners{
    Runner{"npx", "", true}, Runner{"npm", "exec", true}, Runner{"npm", "x", true},
    Runner{"pnpx", ""},      Runner{"pnpm", "dlx"},       Runner{"yarn", "dlx"},
    Runner{"bunx", ""},      Runner{"bun", "x"},          Runner{"uvx", ""},
    Runner{"pipx", "run"},
};
constexpr std::array<std::string_view, 5> kInstall = {"-y", "--yes", "--no", "--no-install", "-n"};
constexpr std::array<std::string_view, 4> kOffline = {"--offline", "--no", "--no-install",
                                                      "--prefer-offline"};
// Options whose value is another word.
constexpr std::array<std::string_view, 8> kWithValue = {"-p",     "--package", "--from", "--with",
                                                        "--spec", "--python",  "-c",     "--call"};
constexpr std::array<std::string_view, 4> kPackage = {"-p", "--package", "--from", "--spec"};

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// "@scope/name@1.2" is "@scope/name", "name[extra]==1.2" is "name".
std::string without_version(std::string_view package) {
  const size_t at = package.find('@', 1);
  return std::string(package.substr(0, std::min(at, package.find_first_of("=<>~![", 1))));
}

// The options in front of the package.
void read_options(std::span<const std::string> words, PackageRun& run) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") continue;
    if (!word.starts_with('-')) {
      if (run.package.empty()) run.package = without_version(word);
      return;
    }
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (is_one_of(name, kInstall)) run.may_ask = false;
    if (is_one_of(name, kOffline)) run.fetches = false;
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (is_one_of(name, kWithValue) && i + 1 < words.size()) {
      value = words[++i];
    }
    if (is_one_of(name, kPackage)) run.package = without_version(value);
  }
}

}  // namespace

std::optional<PackageRun> package_run_of(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const std::string_view path = command[0];
  const std::string_view program = path.substr(path.rfind('/') + 1);
  for (const Runner& runner : kRunners) {
    if (program != runner.program) continue;
    if (!runner.word.empty() && (command.size() < 2 || command[1] != runner.word)) continue;
    PackageRun run;
    run.words = runner.word.empty() ? 1 : 2;
    run.runner = runner.program;
    if (!runner.word.empty()) run.runner.append(" ").append(runner.word);
    run.may_ask = runner.is_npm;
    read_options(std::span(command).subspan(run.words), run);
    return run;
  }
  return std::nullopt;
}

bool may_fetch(const BackendConfig& backend) {
  const auto run = package_run_of(backend.command);
  return run && run->fetches && backend.sandbox.reaches_network();
}

Duration start_time_of(const BackendConfig& backend) {
  return backend.pool.start_timeout +
         (may_fetch(backend) ? backend.pool.fetch_timeout : Duration{0});
}

}  // namespace stdgate::config
