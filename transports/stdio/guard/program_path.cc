#include "transports/stdio/guard/program_path.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stdgate::guard {

namespace {

// execvp's own, where there is no PATH (glibc, confstr(3)).
constexpr const char* kDefaultPath = "/bin:/usr/bin";

}  // namespace

ProgramPath::ProgramPath(const char* command) {
  if (std::strchr(command, '/') != nullptr) {
    found_ = command;
    return;
  }
  const char* rest = std::getenv("PATH");
  if (rest == nullptr) rest = kDefaultPath;
  while (found_ == nullptr) {
    const auto size = static_cast<int>(std::strcspn(rest, ":"));
    const char* const separator = size == 0 ? "" : "/";
    std::snprintf(path_.data(), path_.size(), "%.*s%s%s", size, rest, separator, command);
    if (::access(path_.data(), X_OK) == 0) found_ = path_.data();
    if (rest[size] == '\0') break;
    rest += size + 1;
  }
}

}  // namespace stdgate::guard
