// `stdgate install-to`: what it has copied serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/harness/program_run.h"

namespace stdgate::harness::install_test {
namespace {

using testing::HasSubstr;

TEST(InstallTo, CopyIsWholeAndRuns) {
  const TemporaryFolder folder;
  const std::string target = (folder.path() / "deep/bin").string();
  for (int times = 0; times < 2; ++times) {  // over a former one too
    const ProgramRun copied = run_stdgate(folder, {"install-to", target});
    ASSERT_EQ(copied.exit_code, 0) << copied.err;
  }
  // It needs the guard beside it.
  const ProgramRun used = run_stdgate(
      folder,
      {"call", "--protocol", "jsonrpc", "math/add", "[2,3]", "--", "stdgate", "demo-server"},
      Millis(20'000), target + "/stdgate");
  EXPECT_EQ(used.exit_code, 0) << used.err;
  EXPECT_EQ(used.out, "5\n");
}

TEST(InstallTo, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  folder.write("file", "");
  const ProgramRun below_file = run_stdgate(folder, {"install-to", "file/bin"});
  EXPECT_EQ(below_file.exit_code, 1);
  EXPECT_THAT(below_file.err, HasSubstr("cannot make file/bin"));
  EXPECT_EQ(run_stdgate(folder, {"install-to"}).exit_code, 2);
}

}  // namespace
}  // namespace stdgate::harness::install_test
