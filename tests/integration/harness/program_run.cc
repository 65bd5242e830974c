#include "tests/integration/harness/program_run.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/integration/harness/processes.h"

namespace stdgate::harness {
namespace {

namespace fs = std::filesystem;

pid_t spawn(const fs::path& folder, std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string out = folder / "out.txt";
  const std::string err = folder / "err.txt";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const auto& [fd, path] : {std::pair(STDOUT_FILENO, out), std::pair(STDERR_FILENO, err)}) {
    posix_spawn_file_actions_addopen(&actions, fd, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  }
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(std::string("spawn: ") + std::strerror(error));
  return pid;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "stdgate-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("mkdtemp: " + std::string(std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

ProgramRun run_stdgate(const TemporaryFolder& folder, const std::vector<std::string>& arguments,
                       Millis deadline, const std::string& program) {
  std::vector<std::string> command = {program.empty() ? STDGATE_PROGRAM : program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const pid_t pid = spawn(folder.path(), std::move(command));
  int status = 0;
  if (!holds_within(deadline, [&] { return waitpid(pid, &status, WNOHANG) == pid; })) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  ProgramRun run;
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  run.out = read_file(folder.path() / "out.txt");
  run.err = read_file(folder.path() / "err.txt");
  return run;
}

}  // namespace stdgate::harness
