// GatewayProcess: a real stdgate as a child of the test, in its own temporary folder.
//
// The constructor starts the gateway and returns once the gateway has announced its addresses. The
// destructor ends it with SIGTERM if the test has not, expects exit code 0, and looks for processes
// that are left. Every process that was started in the folder, has it as TMPDIR or names it in its
// arguments must be gone within two seconds. A gateway dies with its test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/http_client.h"
#include "tests/integration/harness/metrics_text.h"
#include "tests/integration/harness/processes.h"

namespace stdgate::harness {

struct GatewaySetup {
  // The configuration file. "@DIR@" in it and in `arguments` stands for the temporary folder. If
  // the file has no listeners, "127.0.0.1:0" is added for `listen` and `admin`.
  std::string config;
  // Flags and command, instead of the file.
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to the test's own
  size_t listeners = 1;                            // addresses for clients to wait for
  bool admin = true;                               // whether to wait for the admin address too
  Millis start_deadline = Millis(20'000);
  std::string program;          // empty: the stdgate of this build
  bool ignores_hangup = false;  // started as if by nohup
};

// How a process ended: either a code or a signal.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
};

class GatewayProcess {
 public:
  // Throws std::runtime_error with the gateway's log if the gateway does not start.
  explicit GatewayProcess(GatewaySetup setup);
  ~GatewayProcess();
  GatewayProcess(const GatewayProcess&) = delete;
  GatewayProcess& operator=(const GatewayProcess&) = delete;

  // "http://127.0.0.1:40123" or "unix:/path", as printed by the gateway.
  [[nodiscard]] const std::string& url(size_t index = 0) const { return listeners_.at(index); }
  [[nodiscard]] const std::string& admin_url() const { return admin_; }

  [[nodiscard]] HttpClient connect(size_t index = 0) const { return HttpClient(url(index)); }
  [[nodiscard]] MetricsText metrics() const;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::string output() const;  // stdout so far
  [[nodiscard]] std::string log() const;     // stderr so far

  // Writes the file. Adds listeners as the start of a gateway does (GatewaySetup::config).
  void write_config(const std::string& config) const;
  void signal(int number) const;
  // Nothing if the process still runs at the deadline.
  std::optional<ExitStatus> wait_for_exit(Millis deadline = Millis(10'000));
  // The processes that this gateway has started and that still live, without the gateway itself.
  [[nodiscard]] std::vector<ProcessInfo> descendants() const;

 private:
  void make_folder();
  void launch();
  [[nodiscard]] std::vector<std::string> argument_list() const;
  [[nodiscard]] std::vector<std::string> environment_list() const;
  [[nodiscard]] std::string in_folder(std::string text) const;
  void wait_until_listening();
  bool read_addresses();
  void expect_clean_exit();
  void expect_nothing_left();

  GatewaySetup setup_;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  std::optional<ExitStatus> exit_;
  std::vector<std::string> listeners_;
  std::string admin_;
};

}  // namespace stdgate::harness
