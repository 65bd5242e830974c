#include "tests/integration/harness/gateway_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "tests/integration/harness/json_value.h"
#include "tests/integration/harness/processes.h"

namespace stdgate::harness {
namespace {

namespace fs = std::filesystem;

constexpr Millis kGone = Millis(2000);  // for the end of everything that a gateway has started

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Runs between fork() and execve(), so it makes system calls only.
[[noreturn]] void become(const char* folder, char** arguments, char** environment, pid_t parent,
                         bool ignores_hangup) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGHUP, ignores_hangup ? SIG_IGN : SIG_DFL);  // independent of how the tests were started
  if (getppid() == parent && chdir(folder) == 0) {
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = open("stdout.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int err = open("stderr.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execve(arguments[0], arguments, environment);
  }
  _exit(127);
}

// The address in a line "listening on http://127.0.0.1:8080"; nothing if the line does not begin
// with `prefix`.
std::optional<std::string> address_after(const std::string& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::string rest = line.substr(prefix.size());
  return rest.substr(0, rest.find(' '));
}

bool has_key(const std::string& config, const std::string& key) {
  return config.starts_with(key + ":") || config.find("\n" + key + ":") != std::string::npos;
}

}  // namespace

GatewayProcess::GatewayProcess(GatewaySetup setup) : setup_(std::move(setup)) {
  if (setup_.program.empty()) {
    setup_.program = STDGATE_PROGRAM;
  }
  make_folder();
  launch();
  try {
    wait_until_listening();
  } catch (const std::runtime_error&) {
    signal(SIGKILL);
    wait_for_exit();
    expect_nothing_left();
    fs::remove_all(folder_);
    throw;
  }
}

GatewayProcess::~GatewayProcess() {
  if (!exit_) {
    expect_clean_exit();
  }
  expect_nothing_left();
  if (testing::Test::HasFailure()) {
    std::fprintf(stderr, "--- log of the gateway ---\n%s", log().c_str());
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void GatewayProcess::make_folder() {
  std::string name = (fs::temp_directory_path() / "stdgate-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("mkdtemp: " + std::string(std::strerror(errno)));
  }
  folder_ = name;
  if (!setup_.config.empty()) write_config(setup_.config);
}

void GatewayProcess::write_config(const std::string& config) const {
  std::string text = in_folder(config);
  for (const char* key : {"listen", "admin"}) {
    if (!has_key(text, key)) text.insert(0, std::string(key) + ": \"127.0.0.1:0\"\n");
  }
  std::ofstream(folder_ / "gateway.yaml") << text;
}

std::string GatewayProcess::in_folder(std::string text) const {
  constexpr std::string_view kPlace = "@DIR@";
  for (size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at)) {
    text.replace(at, kPlace.size(), folder_.string());
  }
  return text;
}

std::vector<std::string> GatewayProcess::argument_list() const {
  std::vector<std::string> list = {setup_.program};
  if (!setup_.config.empty()) {
    list.insert(list.end(), {"--config", (folder_ / "gateway.yaml").string()});
  }
  for (const std::string& argument : setup_.arguments) {
    list.push_back(in_folder(argument));
  }
  return list;
}

std::vector<std::string> GatewayProcess::environment_list() const {
  std::map<std::string, std::string> wanted = setup_.environment;
  wanted["TMPDIR"] = folder_.string();
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!wanted.contains(text.substr(0, text.find('=')))) {
      list.push_back(text);
    }
  }
  for (const auto& [name, value] : wanted) {
    list.push_back(name + "=" + in_folder(value));
  }
  return list;
}

void GatewayProcess::launch() {
  std::vector<std::string> arguments = argument_list();
  std::vector<std::string> environment = environment_list();
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  }
  if (pid_ == 0) {
    become(folder_.c_str(), const_cast<char**>(argument_pointers.data()),
           const_cast<char**>(environment_pointers.data()), parent, setup_.ignores_hangup);
  }
}

// Reads the addresses that the gateway has announced: as text on stdout, or in a JSON log with a
// line for each backend.
bool GatewayProcess::read_addresses() {
  listeners_.clear();
  std::istringstream lines(output());
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    if (auto address = address_after(line, "listening on ")) {
      listeners_.push_back(*address);
    } else if (auto admin = address_after(line, "admin on ")) {
      admin_ = *admin;
    }
  }
  std::istringstream log_lines(log());
  for (std::string line; std::getline(log_lines, line) && !log_lines.eof();) {
    if (line.find(R"("event":"listening")") == std::string::npos) continue;
    const JsonValue said(line);
    const std::string address = said.text("/address");
    if (said.has("/admin")) {
      admin_ = address;
    } else if (std::find(listeners_.begin(), listeners_.end(), address) == listeners_.end()) {
      listeners_.push_back(address);
    }
  }
  return listeners_.size() >= setup_.listeners && (!setup_.admin || !admin_.empty());
}

void GatewayProcess::wait_until_listening() {
  bool ready = false;
  holds_within(setup_.start_deadline, [&] {
    // The end is looked at first: a process that has ended will write nothing more.
    const bool ended = wait_for_exit(Millis(0)).has_value();
    ready = read_addresses();
    return ready || ended;
  });
  if (!ready) {
    throw std::runtime_error("the gateway did not start: " + output() + log());
  }
}

MetricsText GatewayProcess::metrics() const {
  return MetricsText(HttpClient(admin_).get("/metrics").body);
}

std::string GatewayProcess::output() const { return read_file(folder_ / "stdout.txt"); }

std::string GatewayProcess::log() const { return read_file(folder_ / "stderr.txt"); }

void GatewayProcess::signal(int number) const {
  if (!exit_) {
    kill(pid_, number);
  }
}

std::optional<ExitStatus> GatewayProcess::wait_for_exit(Millis deadline) {
  holds_within(deadline, [this] {
    int status = 0;
    if (!exit_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_ = ExitStatus();
      if (WIFEXITED(status)) {
        exit_->code = WEXITSTATUS(status);
      } else {
        exit_->signal = WTERMSIG(status);
      }
    }
    return exit_.has_value();
  });
  return exit_;
}

std::vector<ProcessInfo> GatewayProcess::descendants() const {
  std::vector<ProcessInfo> found = processes_marked(folder_.string());
  std::erase_if(found, [this](const ProcessInfo& process) { return process.pid == pid_; });
  return found;
}

void GatewayProcess::expect_clean_exit() {
  signal(SIGTERM);
  if (!wait_for_exit()) {
    ADD_FAILURE() << "the gateway did not end after SIGTERM";
    signal(SIGKILL);
    wait_for_exit();
  } else if (exit_->code != 0) {
    ADD_FAILURE() << "the gateway ended with code " << exit_->code.value_or(-1) << ", signal "
                  << exit_->signal.value_or(0);
  }
}

void GatewayProcess::expect_nothing_left() {
  if (holds_within(kGone, [this] { return descendants().empty(); })) {
    return;
  }
  const std::vector<ProcessInfo> left = descendants();
  ADD_FAILURE() << "left behind:\n" << describe(left);
  for (const ProcessInfo& process : left) {
    kill(process.pid, SIGKILL);
  }
}

}  // namespace stdgate::harness
