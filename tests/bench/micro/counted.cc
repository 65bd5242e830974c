// stdgate_counted: what tests/bench/counts runs to count instructions.
//
//   list                          the cases, one a line: name, and as how many steps to count it
//   case NAME STEPS               a case, so often
//   gateway SOCKET STDGATE        the whole program in this process, until SIGTERM: the program
//                                 STDGATE is its guard and its child, the log goes to /dev/null
//   client SOCKET WORKLOAD ROUNDS says the same to that gateway, so often; /-separated
//                                 http/1, websocket/16…: how many calls are under way at once
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "gateway/config/config_parser.h"
#include "gateway/program.h"
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

int run_case(std::string_view name, size_t steps) {
  const std::vector<Case> cases = all_cases();
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [name](const Case& each) { return each.name == name; });
  if (found == cases.end()) return fail("no such case: " + std::string(name));
  const Step step = found->prepare();
  for (size_t i = 0; i < steps; ++i) step();
  return 0;
}

int run_gateway(const std::string& socket, const std::string& stdgate) {
  const auto config = parse_config("listen: [\"unix:" + socket + "\"]\nadmin: \"off\"\n" +
                                       "backends: { demo: { command: [\"" + stdgate +
                                       "\", demo-server], protocol: jsonrpc } }\n",
                                   [](const std::string&) { return std::nullopt; });
  if (!config) return fail(config.error().front().to_string(""));
  if (std::freopen("/dev/null", "w", stderr) == nullptr) return fail("no /dev/null");
  std::signal(SIGPIPE, SIG_IGN);
  return serve(*config, {}, stdgate);
}

int run_client(const std::string& socket, std::string_view workload, size_t rounds) {
  const size_t slash = workload.find('/');
  const auto at_once = parse_number(workload.substr(std::min(slash + 1, workload.size())));
  const std::string_view transport = workload.substr(0, slash);
  if (!at_once || *at_once == 0 || (transport != "http" && transport != "websocket")) {
    return fail("no such workload: " + std::string(workload));
  }
  test::SteadyClient client(
      transport == "http" ? test::echo_over_http("/rpc") : test::echo_over_websocket("/ws"),
      *at_once);
  if (!client.prepare(socket)) return fail("the gateway does not answer");
  return client.run(rounds) ? 0 : fail("a wrong answer, or none");
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto last = parse_number(argc > 1 ? argv[argc - 1] : "");
  if (mode == "list" && argc == 2) {
    for (const Case& each : all_cases()) {
      std::printf("%s %zu\n", each.name.c_str(), steps_to_count(each));
    }
    return 0;
  }
  if (mode == "case" && argc == 4 && last) return run_case(argv[2], *last);
  if (mode == "gateway" && argc == 4) return run_gateway(argv[2], argv[3]);
  if (mode == "client" && argc == 5 && last) return run_client(argv[2], argv[3], *last);
  std::fputs(
      "usage: stdgate_counted list | case NAME STEPS | gateway SOCKET STDGATE |\n"
      "                       client SOCKET WORKLOAD ROUNDS\n",
      stderr);
  return kUsage;
}

}  // namespace
}  // namespace stdgate::bench

int main(int argc, char** argv) { return stdgate::bench::run(argc, argv); }
