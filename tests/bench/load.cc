// load: the load generator. It calls a server over a transport as fast as the server answers,
// checks every answer, and prints one line of JSON. See load --help.
#include <sys/resource.h>

#include <csignal>
#include <iostream>

#include "tests/bench/load_options.h"
#include "tests/bench/load_run.h"

namespace {

void allow_many_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stdgate::bench;
  const auto arguments = parse_load_arguments(argc, argv);
  if (!arguments) {
    std::cerr << "load: " << arguments.error() << '\n';
    return 2;
  }
  if (arguments->done) {
    std::cout << arguments->text;
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  allow_many_files();
  LoadRun run(arguments->options);
  const auto result = run.run();
  if (!result) {
    std::cerr << "load: " << result.error() << '\n';
    return 1;
  }
  std::cout << report_line(arguments->options, *result) << std::endl;
  return result->tally.errors == 0 ? 0 : 1;
}
