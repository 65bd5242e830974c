// `stdgate add` on real configuration files, and a gateway that serves what it has added.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/integration/harness/program_run.h"

namespace stdgate::harness::add_test {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class AddTest : public testing::Test {
 protected:
  ProgramRun run(const std::vector<std::string>& arguments) {
    return run_stdgate(folder_, arguments, Millis(20'000));
  }
  std::string content(const std::string& name = "gateway.yaml") {
    std::ifstream in(folder_.path() / name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  TemporaryFolder folder_;
};

TEST_F(AddTest, NewFileIsOneThatServes) {
  const ProgramRun added = run({"add", "--protocol", "jsonrpc", "--min", "1", "--env", "A=b c",
                                "calc", "--", "stdgate", "demo-server"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_EQ(added.out, "added to gateway.yaml: calc\n");
  EXPECT_EQ(content(),
            "backends:\n  calc:\n    command: [\"stdgate\", \"demo-server\"]\n"
            "    env: { A: \"b c\" }\n    protocol: jsonrpc\n    pool: { min: 1 }\n");
  struct stat status {};
  ASSERT_EQ(::stat((folder_.path() / "gateway.yaml").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(run({"check"}).exit_code, 0);
}

TEST_F(AddTest, RestOfTheFileStays) {
  const std::string before = "# mine\nbackends:\n  one: { command: [\"cat\"] }  # first\n\n# end\n";
  folder_.write("real.yaml", before);
  std::filesystem::create_symlink("real.yaml", folder_.path() / "gateway.yaml");
  std::filesystem::permissions(folder_.path() / "real.yaml", std::filesystem::perms(0640));
  const ProgramRun dry = run({"add", "--dry-run", "two", "--", "cat", "-u"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_EQ(content(), before);
  EXPECT_THAT(dry.err, HasSubstr("default: true"));
  EXPECT_EQ(run({"add", "two", "--", "cat", "-u"}).exit_code, 0);
  EXPECT_EQ(content("real.yaml"), dry.out);
  EXPECT_THAT(dry.out, HasSubstr("# first\n  two:\n    command: [\"cat\", \"-u\"]\n\n# end\n"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path() / "gateway.yaml"));
  struct stat status {};
  ASSERT_EQ(::stat((folder_.path() / "real.yaml").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  const ProgramRun again = run({"add", "two", "--", "cat"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("has a backend two already"));
}

TEST_F(AddTest, SecretsAreNotWritten) {
  const ProgramRun added = run({"add", "--env", "API_TOKEN=wonderful-secret", "one", "--", "cat"});
  EXPECT_EQ(added.exit_code, 0);
  EXPECT_THAT(added.err, HasSubstr("set API_TOKEN in stdgate's environment"));
  EXPECT_THAT(content(), AllOf(HasSubstr("\"${API_TOKEN}\""), Not(HasSubstr("wonderful"))));
}

TEST_F(AddTest, ImportOfAClient) {
  folder_.write("claude_desktop_config.json",
                R"({"mcpServers":{"Demo":{"command":"stdgate","args":["demo-server"]},
                   "web":{"url":"https://x.example/mcp"}}})");
  const ProgramRun added = run({"add", "--import", "claude_desktop_config.json"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_THAT(added.err, HasSubstr("warning: web: left out"));
  EXPECT_THAT(content(), HasSubstr("  demo:\n    command: [\"stdgate\", \"demo-server\"]\n"));
  const ProgramRun again = run({"add", "--import", "claude_desktop_config.json"});
  EXPECT_EQ(again.exit_code, 1);
  folder_.write("only_url.json", R"({"mcpServers":{"web":{"url":"https://x.example/mcp"}}})");
  const ProgramRun nothing = run({"add", "--import", "only_url.json"});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, AllOf(HasSubstr("nothing to import"), HasSubstr("web: left out")));
}

TEST_F(AddTest, ImportOfAWorkspaceTakesItsFileOfVariables) {
  std::filesystem::create_directory(folder_.path() / ".vscode");
  folder_.write(".env", "LOG_LEVEL=debug\n");
  folder_.write(".vscode/mcp.json", R"({"servers":{
      "here":{"command":"cat","envFile":"${workspaceFolder}/.env"},
      "gone":{"command":"cat","envFile":"${workspaceFolder}/gone.env"}}})");
  const ProgramRun added = run({"add", "--import", ".vscode/mcp.json"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_THAT(content(), HasSubstr("env_file: \"" + (folder_.path() / ".env").string() + "\""));
  EXPECT_THAT(added.err, HasSubstr("warning: gone: its envFile"));
  EXPECT_THAT(added.out, HasSubstr("servers: { all: { default: true, members: ["));
  EXPECT_THAT(run({"check"}).out, HasSubstr("sets LOG_LEVEL"));
}

TEST_F(AddTest, Usage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"add"}, "expected NAME -- COMMAND"},
      {{"add", "x"}, "expected NAME -- COMMAND"},
      {{"add", "--", "cat"}, "expected NAME -- COMMAND"},
      {{"add", "Big", "--", "cat"}, "Big"},
      {{"add", "x", "--", "npx -y server"}, "\"npx -y server\" is a whole command line"},
      {{"add", "rpc", "--", "cat"}, "rpc"},
      {{"add", "--import", "x", "y", "--", "cat"}, "--import FILE"},
  };
  for (const auto& [arguments, error] : table) {
    const ProgramRun bad = run(arguments);
    EXPECT_EQ(bad.exit_code, 2) << error;
    EXPECT_THAT(bad.err, HasSubstr(error));
  }
  EXPECT_THAT(content(), IsEmpty());
  const ProgramRun wrong = run({"add", "--min", "many", "x", "--", "cat"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(content(), IsEmpty());
}

}  // namespace

// `stdgate install-to`: the copied program runs.

namespace {

using testing::HasSubstr;

TEST(InstallTo, CopyIsWholeAndRuns) {
  const TemporaryFolder folder;
  const std::string target = (folder.path() / "deep/bin").string();
  for (int times = 0; times < 2; ++times) {  // the second time over the first copy
    const ProgramRun copied = run_stdgate(folder, {"install-to", target});
    ASSERT_EQ(copied.exit_code, 0) << copied.err;
  }
  // Starting a child needs the copied guard beside the copied stdgate.
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

}  // namespace stdgate::harness::add_test
