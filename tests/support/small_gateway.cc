// small_gateway: a gateway with one child, which tests kill.
//
// small_gateway GUARD COMMAND...
// Launches the command under the guard, prints its pid, and waits for ever.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "gateway/base/log.h"
#include "transports/stdio/child_process.h"

namespace {

struct NoLog final : stdgate::Log {
  [[nodiscard]] bool enabled(stdgate::LogLevel /*level*/) const override { return false; }
  void write(stdgate::LogLevel /*level*/, std::string_view /*event*/,
             std::initializer_list<stdgate::LogField> /*fields*/) override {}
};

struct PidPrinter final : stdgate::pool::ChildEvents {
  void on_started(int pid) override {
    std::printf("%d\n", pid);
    std::fflush(stdout);
  }
  void on_output(std::span<char> /*bytes*/) override {}
  void on_output_end() override {}
  void on_writable() override {}
  void on_exit(const stdgate::pool::ExitStatus& /*status*/) override { std::puts("exit"); }
};

int run_gateway(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  stdgate::net::Loop loop;
  NoLog log;
  PidPrinter events;
  stdgate::stdio::OrphanReaper orphans;
  stdgate::stdio::ChildProcesses launcher(loop, log, orphans, argv[1]);
  stdgate::pool::LaunchSpec spec;
  spec.backend = "test";
  spec.command.assign(argv + 2, argv + argc);
  spec.environment["PATH"] = "/usr/bin:/bin";
  const auto link = launcher.launch(spec, events);
  loop.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return run_gateway(argc, argv);
  std::fputs("usage: small_gateway GUARD COMMAND...\n", stderr);
  return 64;
}
