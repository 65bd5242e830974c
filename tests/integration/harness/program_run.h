// run_stdgate: the real stdgate for what ends by itself: --help, check, a start that fails.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/harness/eventually.h"

namespace stdgate::harness {

// A folder for one test; gone with it.
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
  int exit_code = -1;  // -1: it did not exit by itself
  std::string out;
  std::string err;
};

// Runs `stdgate ARGUMENTS` in `folder`; kills it when it still runs at the deadline. `program` is
// another file of it, empty for that of this build.
ProgramRun run_stdgate(const TemporaryFolder& folder, const std::vector<std::string>& arguments,
                       Millis deadline = Millis(10'000), const std::string& program = "");

}  // namespace stdgate::harness
