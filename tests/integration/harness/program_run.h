// run_stdgate: the real stdgate, for commands that end by themselves: --help, check, a failed
// start.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"

namespace stdgate::harness {

// A folder for one test. The destructor removes it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

struct ProgramRun {
  int exit_code = -1;  // -1: a signal has ended it
  std::string out;
  std::string err;
};

// Runs `stdgate ARGUMENTS` in `folder`, and kills it if it still runs at the deadline. `program`:
// another stdgate; empty: the stdgate of this build.
ProgramRun run_stdgate(const TemporaryFolder& folder, const std::vector<std::string>& arguments,
                       Millis deadline = Millis(10'000), const std::string& program = "");

}  // namespace stdgate::harness
