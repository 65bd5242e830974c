#include "metrics/logs/log_style.h"

#include <sys/stat.h>
#include <unistd.h>

namespace stdgate::logs {

namespace {

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

LineLook look_of(int fd, const std::map<std::string, std::string>& environment) {
  if (is_journal(fd, environment)) return LineLook::journal;
  return takes_colour(fd, environment) ? LineLook::coloured : LineLook::plain;
}

bool is_journal(int fd, const std::map<std::string, std::string>& environment) {
  const std::string stream = value_of(environment, "JOURNAL_STREAM");
  struct stat status {};
  if (stream.empty() || ::fstat(fd, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

bool takes_colour(int fd, const std::map<std::string, std::string>& environment) {
  const std::string terminal = value_of(environment, "TERM");
  return value_of(environment, "NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" &&
         isatty(fd) == 1;
}

}  // namespace stdgate::logs
