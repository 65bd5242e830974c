// guard_main: the guard as a program of its own, and a small gateway to be killed by tests.
//
// guard_main guard ...          what stdgate does in this mode
// guard_main gateway CMD...     launches CMD under a guard, prints its pid, waits for ever
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "gateway/base/log.h"
#include "transports/stdio/child_process.h"
#include "transports/stdio/guard.h"

namespace {

struct NoLog final : stdgate::Log {
  [[nodiscard]] bool enabled(stdgate::LogLevel /*level*/) const override { return false; }
  void write(stdgate::LogLevel /*level*/, std::string_view /*event*/,
             std::initializer_list<stdgate::LogField> /*fields*/) override {}
};

struct PidPrinter final : stdgate::ChildEvents {
  void on_started(int pid) override {
    std::printf("%d\n", pid);
    std::fflush(stdout);
  }
  void on_output(std::span<char> /*bytes*/) override {}
  void on_output_end() override {}
  void on_writable() override {}
  void on_exit(const stdgate::ExitStatus& /*status*/) override { std::puts("exit"); }
};

int run_gateway(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  stdgate::Loop loop;
  NoLog log;
  PidPrinter events;
  stdgate::ChildProcesses launcher(loop, log, "/proc/self/exe");
  stdgate::LaunchSpec spec;
  spec.backend = "test";
  spec.command.assign(argv + 2, argv + argc);
  spec.environment["PATH"] = "/usr/bin:/bin";
  const auto link = launcher.launch(spec, events);
  loop.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == stdgate::kGuardArgument) return stdgate::run_guard(argc, argv);
  if (mode == "gateway" && argc > 2) return run_gateway(argc, argv);
  std::fputs("usage: guard_main guard ... | gateway COMMAND...\n", stderr);
  return 64;
}
