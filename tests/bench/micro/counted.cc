// stdgate_counted: the program whose instructions tests/bench/counts counts.
//
//   cases [NAME…]          does the steps of these cases, or of all. Prints each name and its
//                          number of steps. They run in count_steps(), where alone callgrind counts
//   gateway CONFIG GUARD   runs the whole program in this process until SIGTERM
//   client SOCKET WORKLOAD ROUNDS [HEADER]
//                          makes the workload's calls to that gateway, ROUNDS times. HEADER is a
//                          further header line. Workloads are named http/1, websocket/16 and so
//                          on, by the transport and the number of calls in flight
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "gateway/app/command_line.h"
#include "gateway/app/process.h"
#include "tests/bench/micro/case.h"
#include "tests/support/steady_client.h"

namespace stdgate::bench {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 64;

std::optional<size_t> parse_number(std::string_view text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int fail(const std::string& what) {
  std::fprintf(stderr, "stdgate_counted: %s\n", what.c_str());
  return kFailed;
}

// A few repetitions suffice for a large step.
size_t steps_to_count(const Case& each) {
  constexpr size_t kBytes = 2'000'000;
  return std::clamp<size_t>(each.bytes == 0 ? SIZE_MAX : kBytes / each.bytes, 4, 1000);
}

[[gnu::noinline]] void count_steps(const Step& step, size_t steps) {
  for (size_t i = 0; i < steps; ++i) step();
}

int run_cases(const std::vector<std::string_view>& names) {
  for (const Case& each : all_cases()) {
    if (!names.empty() && std::ranges::find(names, each.name) == names.end()) continue;
    const Step step = each.prepare();
    const size_t steps = steps_to_count(each);
    for (size_t i = 0; i < steps; ++i) step();  // until memory has reached its largest size
    count_steps(step, steps);
    std::printf("%s %zu\n", each.name.c_str(), steps);
  }
  return 0;
}

int run_gateway(const std::string& file, const std::string& guard) {
  app::CommandLine command_line;
  command_line.config_file = file;
  const auto config =
      app::load_config(command_line, [](const std::string&) { return std::nullopt; });
  if (!config) return fail(config.error());
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return fail("no /dev/null");
  std::signal(SIGPIPE, SIG_IGN);
  return app::serve(*config, {}, {.guard_path = guard});
}

std::optional<test::SteadyCall> call_by(std::string_view transport, std::string_view fields) {
  if (transport == "http") return test::echo_over_http("/rpc", "1", fields);
  if (transport == "websocket") return test::echo_over_websocket("/ws");
  if (transport == "mcp") return test::echo_over_mcp("/tools/mcp", fields);
  if (transport == "mcp-form") return test::form_over_mcp("/tools/mcp");
  if (transport == "server") return test::echo_over_mcp("/team/mcp", fields);
  if (transport == "server-bridged") return test::echo_over_modern_mcp("/team/mcp", fields);
  if (transport == "server-modern") return test::echo_over_modern_mcp("/fresh/mcp", fields);
  if (transport == "mcp-modern") return test::echo_over_modern_mcp("/modern/mcp", fields);
  if (transport == "mcp-bridged") return test::echo_over_modern_mcp("/tools/mcp", fields);
  if (transport == "mcp-at-modern") return test::echo_over_mcp("/modern/mcp", fields);
  return std::nullopt;
}

int run_client(const std::string& socket, std::string_view workload, size_t rounds,
               const std::string& fields) {
  const size_t slash = workload.find('/');
  const auto at_once = parse_number(workload.substr(std::min(slash + 1, workload.size())));
  const auto call = call_by(workload.substr(0, slash), fields);
  if (!call || !at_once || *at_once == 0) {
    return fail("no such workload: " + std::string(workload));
  }
  test::SteadyClient client(*call, *at_once);
  if (!client.prepare(socket)) return fail("the gateway does not answer");
  return client.run(rounds) ? 0 : fail("a wrong answer, or none");
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto rounds = parse_number(argc > 4 ? argv[4] : "");
  if (mode == "cases") return run_cases({argv + 2, argv + argc});
  if (mode == "gateway" && argc == 4) return run_gateway(argv[2], argv[3]);
  if (mode == "client" && (argc == 5 || argc == 6) && rounds) {
    return run_client(argv[2], argv[3], *rounds, argc == 6 ? argv[5] + std::string("\r\n") : "");
  }
  std::fputs(
      "usage: stdgate_counted cases [NAME…] | gateway CONFIG GUARD |\n"
      "                       client SOCKET WORKLOAD ROUNDS [HEADER]\n",
      stderr);
  return kUsage;
}

}  // namespace
}  // namespace stdgate::bench

int main(int argc, char** argv) { return stdgate::bench::run(argc, argv); }
