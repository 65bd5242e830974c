// A hostile child in a sandbox tries everything that it must not be able to do. Each test also
// makes the attempts without the sandbox, or with a sandbox that allows them, so that no test
// passes by chance.
#include "transports/stdio/guard/sandbox.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"
#include "tests/integration/harness/setups.h"
#include "tests/support/test_folder.h"

namespace stdgate::harness::sandbox_test {
namespace {

using test::TestFolder;
using testing::HasSubstr;
using testing::IsEmpty;

using Results = std::map<std::string, int>;

std::string path_params(const std::string& path) { return R"({"path":")" + path + "\"}"; }
std::string port_params(int port) { return R"({"port":)" + std::to_string(port) + "}"; }

// A gateway with one hostile child. `options`: of its backend.
struct SandboxedChild {
  explicit SandboxedChild(const std::string& options)
      : gateway(serve_one({STDGATE_HOSTILE_CHILD}, options)), client(gateway.connect()) {}

  Results attempt(const std::string& method, const std::string& params = "{}") {
    const HttpResponse response = call(client, method, params);
    EXPECT_EQ(response.status, 200) << response.body;
    const JsonValue answer(response.body);
    Results results;
    for (const std::string& name : answer.names("/result")) {
      results[name] = static_cast<int>(answer.number("/result/" + name));
    }
    EXPECT_THAT(results, testing::Not(IsEmpty())) << method;
    return results;
  }
  int attempt(const std::string& method, const std::string& params, const std::string& name) {
    return attempt(method, params).at(name);
  }

  GatewayProcess gateway;
  HttpClient client;
};

std::string sandbox(const std::string& value) { return "sandbox: " + value; }

std::set<std::string> names_with(const Results& results, int error) {
  std::set<std::string> names;
  for (const auto& [name, result] : results) {
    if (result == error) names.insert(name);
  }
  return names;
}

std::set<std::string> names_of(const Results& results) {
  std::set<std::string> names;
  for (const auto& [name, result] : results) names.insert(name);
  return names;
}

bool has_landlock(int abi) { return guard::kernel_features().landlock_abi >= abi; }

#define NEEDS_LANDLOCK(abi)                                                                \
  if (!has_landlock(abi))                                                                  \
  GTEST_SKIP() << "this kernel has Landlock ABI " << guard::kernel_features().landlock_abi \
               << ", not " << (abi)
#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "only root may start children as other users"

// A TCP port of 127.0.0.1 with a listening socket.
class Listener {
 public:
  Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

// A port without a listener.
int free_port() { return Listener().port(); }

TEST(Sandbox, RefusesSystemCallsThatReachAround) {
  const std::set<std::string> unknown = {
      "clone3",     "io_uring_setup", "io_uring_enter", "io_uring_register",
      "newer_call", "call_32_bit",    "call_x32"};
  SandboxedChild child(sandbox("{}"));
  const Results results = child.attempt("syscalls");
  EXPECT_GE(results.size(), 50U);
  for (const auto& [name, result] : results) {
    EXPECT_EQ(result, unknown.contains(name) ? ENOSYS : EPERM) << name;
  }
  // The filter also holds after exec, in child processes and with preloaded libraries.
  EXPECT_EQ(child.attempt("again", R"({"call":"syscalls"})"), results);

  SandboxedChild free("sandbox: off");
  const Results without = free.attempt("syscalls");
  for (const char* name : {"ptrace", "process_vm_readv", "kcmp", "keyctl"}) {
    EXPECT_EQ(without.at(name), 0) << name;
  }
  EXPECT_NE(without.at("clone3"), ENOSYS);
}

TEST(Sandbox, LetsThroughTheSocketsThatItNames) {
  const std::set<std::string> pairs = {"stream_pair", "packet_pair"};
  const std::set<std::string> internet = {"tcp4", "tcp6", "udp4", "udp6"};
  std::set<std::string> closed = pairs;
  closed.insert("route");
  std::set<std::string> out = closed;
  out.insert(internet.begin(), internet.end());
  std::set<std::string> with_unix = out;
  with_unix.insert({"unix_stream", "unix_datagram", "datagram_pair"});
  struct Case {
    const char* network;
    std::set<std::string> open;
    int abi;
  };
  const Case cases[] = {{"none", closed, 0},
                        {"outbound", out, guard::kAbiOfPorts},
                        {"{ connect: [443] }", out, guard::kAbiOfPorts},
                        {"{ bind: [443], unix: true }", with_unix, guard::kAbiOfPorts}};
  for (const Case& c : cases) {
    if (!has_landlock(c.abi)) continue;
    SandboxedChild child(sandbox(std::string("{ network: ") + c.network + " }"));
    EXPECT_EQ(names_with(child.attempt("sockets"), 0), c.open) << c.network;
  }
  SandboxedChild free(sandbox("{ network: any }"));
  EXPECT_THAT(names_with(free.attempt("sockets"), 0), testing::IsSupersetOf(with_unix));
}

TEST(Sandbox, ConnectsToNamedPortsOnly) {
  NEEDS_LANDLOCK(guard::kAbiOfPorts);
  const Listener named;
  const Listener other;
  const auto connects = [&](const std::string& network, int port) {
    return SandboxedChild(sandbox("{ network: " + network + " }"))
        .attempt("connects", port_params(port));
  };
  const std::string ports = "{ connect: [" + std::to_string(named.port()) + "] }";
  EXPECT_EQ(connects(ports, named.port()).at("tcp"), 0);
  const Results refused = connects(ports, other.port());
  EXPECT_EQ(refused.at("tcp"), EACCES);
  EXPECT_EQ(refused.at("fast_open"), EOPNOTSUPP);
  EXPECT_EQ(refused.at("mptcp"), EPROTONOSUPPORT);
  EXPECT_EQ(connects("outbound", other.port()).at("tcp"), 0);
  EXPECT_EQ(connects("any", other.port()).at("tcp"), 0);
  EXPECT_EQ(connects("any", other.port()).at("fast_open"), 0);
  const Results none = connects("none", other.port());
  EXPECT_EQ(names_with(none, EACCES), names_of(none));
}

TEST(Sandbox, ListensAtNamedPortsOnly) {
  NEEDS_LANDLOCK(guard::kAbiOfPorts);
  const int port = free_port();
  const auto listens = [&](const std::string& network, int at) {
    return SandboxedChild(sandbox("{ network: " + network + " }"))
        .attempt("listening", port_params(at));
  };
  const std::string ports = "{ bind: [" + std::to_string(port) + "] }";
  EXPECT_EQ(listens(ports, port).at("listen"), 0);
  EXPECT_EQ(listens(ports, free_port()).at("bind"), EACCES);
  EXPECT_EQ(listens(ports, port).at("any_port"), EACCES);
  for (const char* network : {"none", "outbound", "{ connect: [443] }"}) {
    const Results results = listens(network, port);
    EXPECT_EQ(names_with(results, EACCES), names_of(results)) << network;
  }
  const Results free = listens("any", port);
  EXPECT_EQ(names_with(free, 0), names_of(free));
}

TEST(Sandbox, ReachesUnixSocketsOnlyIfItMay) {
  const TestFolder folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.path("s");
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 16), 0);
  const auto connects = [&](const std::string& network) {
    return SandboxedChild(sandbox("{ network: " + network + " }"))
        .attempt("unix", path_params(path));
  };
  EXPECT_EQ(connects("any").at("socket"), 0);
  EXPECT_EQ(connects("none"), (Results{{"socket", EACCES}, {"pair", EISCONN}}));
  if (has_landlock(guard::kAbiOfPorts)) {
    EXPECT_EQ(connects("outbound").at("socket"), EACCES);
    EXPECT_EQ(connects("{ connect: [1], unix: true }").at("socket"), 0);
  }
  ::close(listener);
}

TEST(Sandbox, StrictReadsTheSystemAndItsDirectoryOnly) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  const TestFolder folder;
  const std::string secret = folder.write("secret", "x");
  SandboxedChild child("cwd: /usr/share, " + sandbox("strict"));
  const auto reads = [&](const std::string& path) {
    return child.attempt("reading", path_params(path));
  };
  const std::string gateway = "/proc/" + std::to_string(child.gateway.pid());
  for (const std::string& path :
       {secret, std::string("/etc/shadow"), std::string("/root"), std::string("/home"),
        std::string("/tmp"), std::string("/"), std::string("/var"), std::string("/proc"),
        gateway + "/environ", gateway + "/cmdline", gateway + "/mem", gateway + "/fd",
        std::string("/usr/../etc/shadow"), std::string("/dev"), std::string("/etc")}) {
    const Results results = reads(path);
    EXPECT_EQ(results.at("read"), EACCES) << path;
    EXPECT_TRUE(results.at("list") == EACCES || results.at("list") == ENOTDIR) << path;
    EXPECT_EQ(results.at("execute"), EACCES) << path;
    EXPECT_EQ(results.at("watch"), EACCES) << path;
  }
  EXPECT_EQ(reads(".").at("watch"), EACCES) << "it cannot be told from what may not be read";
  // Code that is read or created elsewhere can still run, see docs/children.md.
  EXPECT_EQ(child.attempt("memory_code", "{}", "memfd"), 0);
  for (const char* path : {"/usr/bin/true", "/bin/true"}) {
    EXPECT_EQ(reads(path).at("read"), 0);
    EXPECT_EQ(reads(path).at("execute"), 0);
  }
  for (const char* path :
       {"/etc/hosts", "/proc/self/status", "/proc/meminfo", "/dev/urandom", ".", "/usr"}) {
    EXPECT_EQ(reads(path).at("read"), 0) << path;
  }

  SandboxedChild free("sandbox: off");
  EXPECT_EQ(free.attempt("reading", path_params(secret), "read"), 0);
  EXPECT_EQ(free.attempt("reading", path_params(secret), "watch"), 0);
  SandboxedChild writes(sandbox("{ filesystem: { write: [/tmp] } }"));
  EXPECT_EQ(writes.attempt("reading", path_params(secret), "watch"), 0) << "all may be read";
}

TEST(Sandbox, WritesWhereItMayOnly) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  const TestFolder open;
  const TestFolder closed;
  open.write("old", "x");
  closed.write("old", "x");
  std::filesystem::create_symlink(closed.path("old"), open.path("leads_out"));
  const std::string files = "write: [\"" + open.path("") + "\"]";
  for (const std::string& rest : {std::string(), std::string(", default_read: false")}) {
    const bool reads_all = rest.empty();
    SandboxedChild child(sandbox("{ filesystem: { " + files + rest + " } }"));
    const Results refused = child.attempt("writing", path_params(closed.path("")));
    for (const auto& [name, result] : refused) {
      EXPECT_TRUE(result == EACCES || (result == ENOENT && (name == "rmdir" || name == "delete")))
          << name << " " << result << rest;
    }
    // Through a link in a writable directory.
    EXPECT_EQ(child.attempt("reading", path_params(open.path("leads_out")), "read"),
              reads_all ? 0 : EACCES);
    EXPECT_EQ(child.attempt("reading", path_params(open.path("old")), "read"), 0);
    const Results allowed = child.attempt("writing", path_params(open.path("")));
    EXPECT_EQ(names_with(allowed, 0), names_of(allowed)) << testing::PrintToString(allowed);
    open.write("old", "x");
    for (const char* left : {"new", "symlink", "link", "fifo"}) {
      std::filesystem::remove(open.path(left));
    }
  }
  std::ifstream untouched(closed.path("old"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(untouched), {}), "x");
}

TEST(Sandbox, WhoWritesNowhereChangesNoMetadata) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  const TestFolder folder;
  const std::string file = folder.write("file", "x");
  for (const char* value : {"{ filesystem: {} }", "{ filesystem: { read: [/] } }"}) {
    const Results refused = SandboxedChild(sandbox(value)).attempt("metadata", path_params(file));
    EXPECT_EQ(names_with(refused, EPERM), names_of(refused)) << value;
  }
  const std::string writes = "{ filesystem: { write: [\"" + folder.path("") + "\"] } }";
  for (const std::string& value : {std::string("off"), std::string("{}"), writes}) {
    const Results allowed = SandboxedChild(sandbox(value)).attempt("metadata", path_params(file));
    EXPECT_THAT(names_with(allowed, EPERM), IsEmpty()) << value;
    EXPECT_EQ(allowed.at("chmod"), 0) << value;
  }
}

TEST(Sandbox, PathsAreRelativeToItsDirectory) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  const TestFolder folder;
  std::filesystem::create_directory(folder.path("data"));
  std::ofstream(folder.path("data/old")) << "x";
  SandboxedChild child("cwd: \"" + folder.path("") + "\", " +
                       sandbox("{ filesystem: { write: data } }"));
  EXPECT_EQ(child.attempt("writing", path_params("data"), "write"), 0);
  EXPECT_EQ(child.attempt("writing", path_params("."), "create"), EACCES);
}

TEST(Sandbox, NobodyElseIsReached) {
  SandboxedChild child(sandbox("strict"));
  SandboxedChild other(sandbox("strict"));
  child.attempt("sockets");
  other.attempt("sockets");
  std::vector<pid_t> others = {child.gateway.pid(), other.gateway.pid(), ::getpid(), 1};
  for (const SandboxedChild* each : {&child, &other}) {
    for (const ProcessInfo& guard : children_of(each->gateway.pid())) {
      others.push_back(guard.pid);
      if (each != &other) continue;
      for (const ProcessInfo& command : children_of(guard.pid)) others.push_back(command.pid);
    }
  }
  ASSERT_EQ(others.size(), 7U);
  for (const pid_t pid : others) {
    Results results = child.attempt("attack", R"({"pid":)" + std::to_string(pid) + "}");
    if (!has_landlock(6)) {
      for (const char* name : {"kill", "kill_0", "tgkill", "pidfd_send_signal"}) {
        results.erase(name);  // the kernel has no scope for signals
      }
    }
    EXPECT_THAT(names_with(results, 0), IsEmpty()) << pid;
  }
}

TEST(Sandbox, NoDescriptorIsInherited) {
  SandboxedChild child(sandbox("strict"));
  const HttpResponse response = call(child.client, "descriptors");
  EXPECT_EQ(response.body, result("1", "{}"));
}

TEST(Sandbox, NothingOutlivesTheGateway) {
  SandboxedChild child(sandbox("strict"));
  const pid_t pid = child.attempt("outlive", "{}", "pid");
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, 0), 0);
  child.gateway.signal(SIGKILL);
  child.gateway.wait_for_exit();
  EXPECT_TRUE(
      eventually("its descendant is gone", [&] { return ::kill(pid, 0) != 0 && errno == ESRCH; }));
}

TEST(Sandbox, ForksAreBounded) {
  NEEDS_ROOT();
  const Results bounded =
      SandboxedChild("user: nobody, rlimits: { processes: 30 }, " + sandbox("{}"))
          .attempt("fork_bomb");
  EXPECT_EQ(bounded.at("fork"), EAGAIN);
  EXPECT_LE(bounded.at("forks"), 30);
  const Results free = SandboxedChild("user: nobody, " + sandbox("{}")).attempt("fork_bomb");
  EXPECT_GT(free.at("forks"), 30);
}

TEST(Sandbox, SetuidProgramsGainNothing) {
  NEEDS_ROOT();
  const TestFolder folder;
  const std::string path = folder.path("setuid");
  std::filesystem::copy_file(STDGATE_HOSTILE_CHILD, path);
  std::filesystem::permissions(folder.path(""), std::filesystem::perms(0755));
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  const pid_t control = ::fork();
  if (control == 0) {
    if (::setuid(::getpwnam("nobody")->pw_uid) == 0) {
      ::execl(path.c_str(), path.c_str(), "--am-i-root", nullptr);
    }
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(control, &status, 0);
  ASSERT_EQ(status, 0) << "this folder does not let programs be setuid";
  SandboxedChild child("user: nobody, " + sandbox("{}"));
  EXPECT_EQ(child.attempt("run_as_root", path_params(path), "run"), EPERM);
}

TEST(Sandbox, PathsThatDoNotExistAreTold) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  const std::string options =
      "expose_fault_details: true, " + sandbox("{ filesystem: { write: [/tmp, /no/such/place] } }");
  const std::string more =
      sandbox("{ filesystem: { read: [/no/first], write: [/tmp, /no/second] } }");
  SandboxedChild child(options);
  const HttpResponse response = call(child.client, "descriptors");
  EXPECT_EQ(response.status, 502);
  EXPECT_THAT(response.body, HasSubstr("sandbox: /no/such/place: No such file or directory"));
  EXPECT_THAT(child.gateway.log(), HasSubstr("\"children cannot start\""));
  HttpClient admin(child.gateway.admin_url());
  EXPECT_EQ(admin.get("/readyz").status, 503);
  const TemporaryFolder folder;
  folder.write("gateway.yaml", "backends: { main: { command: [cat], " + options + " } }\n");
  const ProgramRun check = run_stdgate(folder, {"check"});
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_THAT(check.err, HasSubstr("backends.main.sandbox: \"/no/such/place\": No such file"));
  folder.write("gateway.yaml", "backends: { main: { command: [cat], " + more + " } }\n");
  EXPECT_THAT(run_stdgate(folder, {"check"}).err,
              HasSubstr("gateway.yaml:1:37: backends.main.sandbox: \"/no/first\": No such file or "
                        "directory; \"/no/second\": No such file or directory\n"));
}

TEST(Sandbox, StateSaysWhatHolds) {
  NEEDS_LANDLOCK(guard::kAbiOfFiles);
  SandboxedChild child(sandbox("strict"));
  child.attempt("sockets");
  const JsonValue state = state_of(child.gateway);
  EXPECT_TRUE(state.flag("/backends/0/sandbox/required"));
  EXPECT_THAT(state.texts("/backends/0/sandbox/holds"),
              testing::ElementsAre("system_calls", "files", "network"));
  EXPECT_THAT(state.texts("/backends/0/sandbox/lacks"), IsEmpty());
  EXPECT_FALSE(state.has("/backends/0/sandbox/missing"));
  EXPECT_EQ(state.number("/backends/0/sandbox/incomplete_starts"), 0);
  SandboxedChild free("sandbox: off");
  EXPECT_FALSE(state_of(free.gateway).has("/backends/0/sandbox"));
}

// A gateway on a simulated kernel without Landlock: a system call filter hides it.
GatewaySetup without_landlock(const std::string& options) {
  GatewaySetup setup = serve_one({STDGATE_HOSTILE_CHILD}, options);
  setup.program = STDGATE_WITHOUT_LANDLOCK;
  return setup;
}

TEST(Sandbox, RequiredIsNotStartedWithoutTheKernelsHelp) {
  for (const char* value : {"strict", "{ filesystem: {} }", "{ network: outbound }"}) {
    GatewayProcess gateway(without_landlock("expose_fault_details: true, " + sandbox(value)));
    HttpClient client = gateway.connect();
    const HttpResponse response = call(client, "descriptors");
    EXPECT_EQ(response.status, 502) << value;
    EXPECT_THAT(response.body, HasSubstr("sandbox: this kernel has no Landlock ABI")) << value;
    EXPECT_THAT(gateway.log(), HasSubstr("this kernel has no Landlock ABI"));
    EXPECT_FALSE(state_of(gateway).flag("/backends/0/ready"));
  }
  // A sandbox that needs no Landlock starts.
  GatewayProcess gateway(without_landlock(sandbox("{ network: none }")));
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "descriptors").status, 200);
}

TEST(Sandbox, WishedIsStartedIncompleteAndSaysSo) {
  GatewayProcess gateway(
      without_landlock(sandbox("{ filesystem: {}, network: none, required: false }") +
                       ", pool: { min: 3, max: 3 }"));
  HttpClient client = gateway.connect();
  EXPECT_EQ(call(client, "descriptors").status, 200);
  await_children(gateway, 3);
  // The system call filter works without Landlock.
  EXPECT_THAT(call(client, "syscalls").body, HasSubstr("\"ptrace\":1,"));
  EXPECT_THAT(call(client, "sockets").body, HasSubstr("\"tcp4\":13,"));
  const JsonValue state = state_of(gateway);
  EXPECT_THAT(state.texts("/backends/0/sandbox/holds"),
              testing::ElementsAre("system_calls", "network"));
  EXPECT_THAT(state.texts("/backends/0/sandbox/lacks"), testing::ElementsAre("files"));
  EXPECT_THAT(state.text("/backends/0/sandbox/missing"), HasSubstr("Landlock ABI 3"));
  EXPECT_EQ(state.number("/backends/0/sandbox/incomplete_starts"), 3);
  EXPECT_EQ(gateway.metrics().sum("stdgate_child_incomplete_sandboxes_total"), 3);
  EXPECT_EQ(log_of(gateway, "sandbox is incomplete").size(), 1U);
}

TEST(Sandbox, CheckWarnsOfWhatTheKernelLacks) {
  const TemporaryFolder folder;
  folder.write("gateway.yaml",
               "backends:\n  a: { command: [cat], sandbox: strict }\n"
               "  b: { command: [cat], sandbox: { filesystem: {}, required: false } }\n");
  const ProgramRun without =
      run_stdgate(folder, {"check"}, Millis(10'000), STDGATE_WITHOUT_LANDLOCK);
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_THAT(without.err, HasSubstr("backends.a.sandbox: this kernel has no Landlock ABI 3"));
  EXPECT_THAT(without.err, HasSubstr("for files; children start without that protection"));
  if (has_landlock(guard::kAbiOfFiles)) {
    EXPECT_EQ(run_stdgate(folder, {"check"}).err, "");
  }
}

}  // namespace
}  // namespace stdgate::harness::sandbox_test
