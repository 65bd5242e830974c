// The program's entry: which of its modes to run. Wiring is in program.h.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/command_line.h"
#include "gateway/demo/demo_server.h"
#include "gateway/program.h"
#include "transports/stdio/guard.h"

namespace stdgate {
namespace {

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

int run(int argc, char** argv) {
  const CommandLine command_line = parse_command_line(argc, argv);
  const std::map<std::string, std::string> variables = read_environment();
  const Environment environment = [&variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  switch (command_line.action) {
    case CommandLine::Action::exit:
      std::fputs(command_line.output.c_str(), command_line.exit_code == 0 ? stdout : stderr);
      return command_line.exit_code;
    case CommandLine::Action::check: {
      const CheckReport report = check_config(command_line, environment);
      std::fputs(report.output.c_str(), report.exit_code == 0 ? stdout : stderr);
      return report.exit_code;
    }
    case CommandLine::Action::demo_server:
      return run_demo_server(0, 1, SteadyClock());
    case CommandLine::Action::serve:
      break;
  }
  const auto config = load_config(command_line, environment);
  if (!config) {
    std::fputs(config.error().c_str(), stderr);
    return kUsageError;
  }
  return serve(*config, variables);
}

}  // namespace
}  // namespace stdgate

int main(int argc, char** argv) {
  // First of all: guards are started often and have nothing to do with the rest.
  if (argc > 1 && std::strcmp(argv[1], stdgate::kGuardArgument) == 0) {
    return stdgate::run_guard(argc, argv);
  }
  // Peers that go away are errors of their write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  return stdgate::run(argc, argv);
}
