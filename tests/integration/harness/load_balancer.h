// LoadBalancer: a real nginx or HAProxy as a child of the test, configured in its own temporary
// folder.
//
// The constructor starts it and returns once it accepts connections. The process ends with the
// destructor or with the test.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/integration/harness/program_run.h"

namespace stdgate::harness {

struct LoadBalancerSetup {
  std::string program;  // "nginx" or "haproxy"
  // The part of the configuration that an example shows. LoadBalancer adds what a complete file
  // needs.
  std::string config;
  std::string address;  // where it listens: "127.0.0.1:8080"
};

class LoadBalancer {
 public:
  // Throws std::runtime_error if the program is not installed or does not start.
  explicit LoadBalancer(const LoadBalancerSetup& setup);
  ~LoadBalancer();
  LoadBalancer(const LoadBalancer&) = delete;
  LoadBalancer& operator=(const LoadBalancer&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::string log() const;  // stdout and stderr

 private:
  void launch(const std::string& path, const std::string& program);
  [[nodiscard]] bool has_ended();

  TemporaryFolder folder_;
  std::string url_;
  pid_t pid_ = -1;
};

// A free port at this address of the loopback network.
int free_port(const std::string& host);

}  // namespace stdgate::harness
