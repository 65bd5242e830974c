// ProgramPath: the file that execvp(3) will execute for a command, found without allocating.
#pragma once

#include <array>

namespace stdgate::guard {

class ProgramPath {
 public:
  // Looks at this process's PATH unless `command` has a slash.
  explicit ProgramPath(const char* command);
  ProgramPath(const ProgramPath&) = delete;
  ProgramPath& operator=(const ProgramPath&) = delete;

  // Null when there is none.
  [[nodiscard]] const char* get() const { return found_; }

 private:
  std::array<char, 4096> path_{};
  const char* found_ = nullptr;
};

}  // namespace stdgate::guard
