#include "tests/integration/harness/load_balancer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {
namespace {

namespace fs = std::filesystem;

// Looks in folders of daemons too, which not every user has in PATH.
std::string path_of(const std::string& program) {
  for (const char* folder : {"/usr/sbin/", "/usr/local/sbin/", "/usr/bin/", "/usr/local/bin/"}) {
    if (fs::exists(folder + program)) return folder + program;
  }
  throw std::runtime_error(program + " is not installed; run: deploy/packages test");
}

// One process in the foreground, which writes nothing outside of its folder.
std::string whole_config(const LoadBalancerSetup& setup, const fs::path& folder) {
  if (setup.program != "nginx") return setup.config;
  std::string text =
      "daemon off; master_process off; pid nginx.pid; error_log stderr warn;\n"
      "events { worker_connections 4096; }\nhttp {\naccess_log off;\n";
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    text += std::string(kind) + "_temp_path " + (folder / kind).string() + ";\n";
  }
  return text + setup.config + "\n}\n";
}

std::vector<std::string> command_of(const std::string& program, const fs::path& folder) {
  const std::string config = folder / "config";
  if (program == "nginx") return {program, "-p", folder, "-c", config};
  return {program, "-db", "-f", config};
}

}  // namespace

int free_port(const std::string& host) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool good =
      ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
  ::close(socket);
  if (!good) throw std::runtime_error("no port is free at " + host);
  return ntohs(address.sin_port);
}

LoadBalancer::LoadBalancer(const LoadBalancerSetup& setup) : url_("http://" + setup.address) {
  const std::string path = path_of(setup.program);
  folder_.write("config", whole_config(setup, folder_.path()));
  launch(path, setup.program);
  const bool is_up = holds_within(Millis(10'000), [this] {
    if (has_ended()) return true;
    try {
      const HttpClient client(url_);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
  if (is_up && pid_ > 0) return;
  throw std::runtime_error(setup.program + " did not start:\n" + log());
}

LoadBalancer::~LoadBalancer() {
  if (testing::Test::HasFailure()) std::fprintf(stderr, "--- load balancer ---\n%s", log().c_str());
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  if (!holds_within(Millis(5'000), [this] { return has_ended(); })) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

bool LoadBalancer::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

void LoadBalancer::launch(const std::string& path, const std::string& program) {
  std::vector<std::string> arguments = command_of(program, folder_.path());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string log = folder_.path() / "log";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (::getppid() == parent) ::execv(path.c_str(), pointers.data());
  ::_exit(127);
}

std::string LoadBalancer::log() const {
  std::ifstream in(folder_.path() / "log", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace stdgate::harness
