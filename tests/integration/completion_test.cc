// `stdgate completion bash` as bash runs it, and `stdgate man` as groff formats it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness/program_run.h"

namespace stdgate::harness::completion_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

class CompletionTest : public testing::Test {
 protected:
  std::string shell(const std::string& script) {
    folder_.write("script.sh", script);
    const std::string command = "cd " + folder_.path().string() + " && bash --norc script.sh 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    std::string out;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0) << out;
    return out;
  }

  // The completions of the last word.
  std::vector<std::string> complete(const std::vector<std::string>& words) {
    std::string script = variables_ +
                         "source <(" STDGATE_PROGRAM " completion bash)\nCOMP_WORDS=('" +
                         typed_program_ + "'";
    for (const std::string& word : words) script += " '" + word + "'";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
              "\n_stdgate\n((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"; true\n";
    std::istringstream lines(shell(script));
    std::vector<std::string> offered;
    for (std::string line; std::getline(lines, line);) offered.push_back(line);
    return offered;
  }

  TemporaryFolder folder_;
  std::string variables_;  // of the shell, as lines
  std::string typed_program_ = STDGATE_PROGRAM;
};

TEST_F(CompletionTest, BashCompletesWords) {
  EXPECT_THAT(complete({"doc"}), ElementsAre("doctor"));
  EXPECT_THAT(complete({""}), IsSupersetOf({"check", "doctor", "ls", "call", "add", "man"}));
  EXPECT_THAT(complete({"config", ""}), ElementsAre("schema", "reference"));
  EXPECT_THAT(complete({"audit", ""}), ElementsAre("verify"));
  EXPECT_THAT(complete({"audit", "verify", ""}), ElementsAre("script.sh"));
  EXPECT_THAT(complete({"completion", "f"}), ElementsAre("fish"));
  EXPECT_THAT(complete({"snippet", "cl"}), ElementsAre("claude-code", "claude-desktop"));
  EXPECT_THAT(complete({"adopt", "cl"}), ElementsAre("claude-desktop", "claude-code"));
  EXPECT_THAT(complete({"ls", "d"}), IsEmpty());
}

TEST_F(CompletionTest, BashFindsTheProgramThatIsTyped) {
  const std::filesystem::path program = STDGATE_PROGRAM;
  const std::string folder = program.parent_path().string();
  variables_ = "HOME='" + folder + "'\nPATH='" + folder + "':$PATH\n";
  for (const std::string typed : {"~/stdgate", "alias-of-stdgate"}) {
    typed_program_ = typed;
    EXPECT_THAT(complete({"doc"}), ElementsAre("doctor")) << typed;
  }
}

TEST_F(CompletionTest, BashCompletesOptionsAndTheirValues) {
  EXPECT_THAT(complete({"doctor", "--js"}), ElementsAre("--json"));
  EXPECT_THAT(complete({"check", "--as"}), ElementsAre("--as"));
  EXPECT_THAT(complete({"--tls-c"}), Contains("--tls-certificate"));
  EXPECT_THAT(complete({"doctor", "--tls-c"}), IsEmpty());
  EXPECT_THAT(complete({"doctor", "--proto"}), ElementsAre("--protocol"));
  EXPECT_THAT(complete({"--protocol", ""}), ElementsAre("jsonrpc", "mcp", "lsp", "acp"));
  EXPECT_THAT(complete({"check", "--log-level", "w"}), ElementsAre("warn"));
  folder_.write("one.yaml", "");
  EXPECT_THAT(complete({"--config", "on"}), ElementsAre("one.yaml"));
  EXPECT_THAT(complete({"--config", "=", "on"}), ElementsAre("one.yaml"));
  EXPECT_THAT(complete({"--timeout", ""}), IsEmpty());
}

TEST_F(CompletionTest, BashCompletesNamesOfBackends) {
  EXPECT_THAT(complete({"doctor", "f"}), IsEmpty());
  folder_.write("gateway.yaml", "backends:\n  files: { comand: [x] }\n  fetch:\n  other: {}\n");
  EXPECT_THAT(complete({"doctor", "f"}), ElementsAre("files", "fetch")) << "mistakes are no matter";
  for (const std::string word : {"tools", "call"}) {
    EXPECT_THAT(complete({word, "ot"}), ElementsAre("other"));
  }
  EXPECT_THAT(complete({"call", "other", "o"}), IsEmpty()) << "a method";
  EXPECT_THAT(complete({"check", "--as", "ada", "--backend", "fe"}), ElementsAre("fetch"));
  folder_.write("two.yaml", "backends: { second: {} }\n");
  EXPECT_THAT(complete({"doctor", "--config", "two.yaml", ""}), ElementsAre("second"));
  EXPECT_THAT(complete({"doctor", "--config", "=", "two.yaml", ""}), ElementsAre("second"));
}

TEST_F(CompletionTest, BashCompletesTheCommandBehindTheDashes) {
  EXPECT_THAT(complete({"doctor", "--", "bas"}), Contains("bash"));
  folder_.write("server.py", "");
  EXPECT_THAT(complete({"--", "python3", "ser"}), ElementsAre("server.py"));
}

TEST_F(CompletionTest, OffersAreTheSameForEveryShell) {
  const auto offers = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"completion", "offers", "--"});
    return run_stdgate(folder_, words).out;
  };
  EXPECT_THAT(offers({""}), HasSubstr("doctor\ttry a server, and say what is wrong\n"));
  EXPECT_THAT(offers({"--"}), HasSubstr("--protocol\twhat the child speaks"));
  EXPECT_THAT(offers({"doctor", "--"}), HasSubstr("--json\tprint the report as JSON\n"));
  EXPECT_EQ(offers({"--protocol", ""}), "jsonrpc\t\nmcp\t\nlsp\t\nacp\t\n");
  EXPECT_THAT(offers({"--protocol=m"}), HasSubstr("--protocol=mcp\t\n"));
  EXPECT_EQ(offers({"audit", ""}), "verify\t\n");
  EXPECT_EQ(offers({"audit", "verify", ""}), ":files\n");
  EXPECT_EQ(offers({"check", "--against", ""}), ":files\n");
  EXPECT_EQ(offers({"ls", "--timeout", ""}), "");
  EXPECT_EQ(offers({"unknown", ""}), "");
  for (const std::string shell : {"zsh", "fish"}) {
    EXPECT_THAT(run_stdgate(folder_, {"completion", shell}).out,
                AllOf(HasSubstr("stdgate\n"), HasSubstr(" completion offers -- ")));
  }
  EXPECT_EQ(run_stdgate(folder_, {"completion", "offers"}).exit_code, 2);
  EXPECT_EQ(run_stdgate(folder_, {"completion", "tcsh"}).exit_code, 2);
}

// The page uses man(7) macros, and is formatted where groff is installed.
TEST_F(CompletionTest, ManualPage) {
  const std::string page = run_stdgate(folder_, {"man"}).out;
  EXPECT_THAT(page, AllOf(HasSubstr(".TH STDGATE 1"), HasSubstr(".SH COMMANDS"),
                          HasSubstr(".SS doctor"), HasSubstr("\\fB\\-\\-protocol\\fR")));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('.')) continue;
    EXPECT_THAT(
        (std::vector<std::string>{"TH", "SH", "SS", "TP", "PP", "B", "br", "nf", "fi", "RS", "RE"}),
        Contains(line.substr(1, line.find(' ') - 1)))
        << line;
  }
  folder_.write("stdgate.1", page);
  const std::string text =
      shell("groff -man -Tascii -ww -Wbreak -P-cbou stdgate.1 | sed 's/.\\x08//g'");
  EXPECT_THAT(text, AllOf(HasSubstr("stdgate doctor [options] -- COMMAND"),
                          HasSubstr("--protocol PROTOCOL"), Not(HasSubstr("warning"))));
}

}  // namespace
}  // namespace stdgate::harness::completion_test
