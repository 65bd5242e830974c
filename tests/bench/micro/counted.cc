// stdgate_counted: what tests/bench/counts runs to count instructions.
//
//   cases [NAME…]                 these, or all of them: prints the name and the number of steps
//   that
//                                 count_steps(), which callgrind is told to look at, does of each
//   gateway SOCKET STDGATE TOOLS  the whole program in this process, until SIGTERM: the program
//                                 STDGATE is its child, the guard beside it its guard, TOOLS an MCP
//                                 server for all sessions; calls are not logged
//   client SOCKET WORKLOAD ROUNDS says the same to that gateway, so often; /-separated
//                                 http/1, websocket/16…: how many calls are under way at once
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "gateway/app/process.h"
#include "gateway/config/config_parser.h"
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

// Large steps are counted well by few of them.
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
    for (size_t i = 0; i < steps; ++i) step();  // until memory is as large as it gets
    count_steps(step, steps);
    std::printf("%s %zu\n", each.name.c_str(), steps);
  }
  return 0;
}

int run_gateway(const std::string& socket, const std::string& stdgate, const std::string& tools) {
  const auto config = config::parse_config(
      "listen: [\"unix:" + socket + "\"]\nadmin: \"off\"\nlog: { calls: false }\n" +
          "backends:\n  demo: { command: [\"" + stdgate +
          "\", demo-server], protocol: jsonrpc, default: true }\n" + "  tools: { command: [\"" +
          tools + "\"], protocol: mcp, isolation: shared }\n",
      [](const std::string&) { return std::nullopt; });
  if (!config) return fail(config.error().front().to_string(""));
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return fail("no /dev/null");
  std::signal(SIGPIPE, SIG_IGN);
  return app::serve(*config, {}, std::filesystem::path(stdgate).replace_filename("stdgate-guard"));
}

std::optional<test::SteadyCall> call_by(std::string_view transport) {
  if (transport == "http") return test::echo_over_http("/rpc");
  if (transport == "websocket") return test::echo_over_websocket("/ws");
  if (transport == "mcp") return test::echo_over_mcp("/tools/mcp");
  return std::nullopt;
}

int run_client(const std::string& socket, std::string_view workload, size_t rounds) {
  const size_t slash = workload.find('/');
  const auto at_once = parse_number(workload.substr(std::min(slash + 1, workload.size())));
  const auto call = call_by(workload.substr(0, slash));
  if (!call || !at_once || *at_once == 0) {
    return fail("no such workload: " + std::string(workload));
  }
  test::SteadyClient client(*call, *at_once);
  if (!client.prepare(socket)) return fail("the gateway does not answer");
  return client.run(rounds) ? 0 : fail("a wrong answer, or none");
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto last = parse_number(argc > 1 ? argv[argc - 1] : "");
  if (mode == "cases") return run_cases({argv + 2, argv + argc});
  if (mode == "gateway" && argc == 5) return run_gateway(argv[2], argv[3], argv[4]);
  if (mode == "client" && argc == 5 && last) return run_client(argv[2], argv[3], *last);
  std::fputs(
      "usage: stdgate_counted cases [NAME…] | gateway SOCKET STDGATE TOOLS |\n"
      "                       client SOCKET WORKLOAD ROUNDS\n",
      stderr);
  return kUsage;
}

}  // namespace
}  // namespace stdgate::bench

int main(int argc, char** argv) { return stdgate::bench::run(argc, argv); }
