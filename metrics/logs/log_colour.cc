#include "metrics/logs/log_colour.h"

#include <unistd.h>

namespace stdgate::logs {

bool takes_colour(int fd, const std::map<std::string, std::string>& environment) {
  const auto value_of = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const std::string terminal = value_of("TERM");
  return value_of("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" && isatty(fd) == 1;
}

}  // namespace stdgate::logs
