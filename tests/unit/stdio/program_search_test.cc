#include "transports/stdio/program_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "transports/stdio/guard_process.h"

namespace stdgate {
namespace {

using stdio::ScriptHead;
using testing::HasSubstr;

class ProgramSearch : public testing::Test {
 protected:
  ProgramSearch() {
    std::string name = testing::TempDir() + "program_search_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* folder : {"a", "b"}) std::filesystem::create_directory(folder_ / folder);
    write("a/plain", 0644);
    write("b/plain", 0755);
    write("b/tool", 0755);
    std::filesystem::create_directory(folder_ / "a/tool");
    spec_.environment["PATH"] = (folder_ / "a").string() + ":" + (folder_ / "b").string();
  }
  ~ProgramSearch() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, mode_t mode) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), mode);
  }
  // The problem with the program; empty if there is none.
  std::string look(const std::string& program) {
    spec_.command = {program};
    const auto found = stdio::find_program(spec_);
    return found ? "" : found.error().what;
  }

  std::filesystem::path folder_;
  pool::LaunchSpec spec_;
};

TEST_F(ProgramSearch, InTheChildsOwnPath) {
  EXPECT_EQ(look("tool"), "") << "past a directory of that name";
  EXPECT_EQ(look("plain"), "") << "past a file that cannot be executed";
  EXPECT_THAT(look("sh"), HasSubstr("program \"sh\" not found in PATH \"" + folder_.string()));
  spec_.environment["PATH"] = (folder_ / "a").string();
  EXPECT_THAT(look("plain"), HasSubstr("a/plain\" is not executable"));
  spec_.environment.erase("PATH");
  EXPECT_EQ(look("sh"), "") << "there is a default";
  EXPECT_THAT(look("tool"), HasSubstr("PATH \"/bin:/usr/bin\""));
}

TEST_F(ProgramSearch, ByItsPath) {
  EXPECT_EQ(look((folder_ / "b/tool").string()), "");
  EXPECT_THAT(look((folder_ / "a/tool").string()), HasSubstr("is not executable"));
  EXPECT_THAT(look((folder_ / "a/none").string()), HasSubstr("a/none\" not found"));
  spec_.working_directory = folder_;
  EXPECT_EQ(look("./b/tool"), "");
  EXPECT_EQ(look("b/tool"), "");
  EXPECT_THAT(look("./tool"), HasSubstr(folder_.string() + "/./tool\" not found"));
  spec_.environment["PATH"] = ":/nowhere";
  spec_.working_directory = folder_ / "b";
  EXPECT_EQ(look("tool"), "") << "an empty entry is the working directory";
}

TEST_F(ProgramSearch, OfAScriptWhatRunsIt) {
  std::ofstream(folder_ / "b/tool") << "#! /nowhere/runtime -x\n";
  EXPECT_THAT(look("tool"), HasSubstr("b/tool\" names \"/nowhere/runtime\""));
  std::ofstream(folder_ / "b/tool") << "#!/usr/bin/env -S tool-of-b --flag\n";
  EXPECT_THAT(look("tool"),
              HasSubstr("names \"tool-of-b\", which is not there to run it, in PATH"));
  write("b/tool-of-b", 0755);
  EXPECT_EQ(look("tool"), "");
  std::ofstream(folder_ / "b/tool") << "#!/bin/sh\r\n";
  EXPECT_THAT(look("tool"), HasSubstr("end with CR LF"));
}

TEST_F(ProgramSearch, WholeCommandLineInOneWord) {
  EXPECT_EQ(look("tool --stdio"), "program \"tool --stdio\" is a whole command line in one word");
  EXPECT_THAT(look("no-such-tool x"), HasSubstr("in one word"));
  EXPECT_THAT(look((folder_ / "b/tool").string() + " x"), HasSubstr("in one word"));
  EXPECT_THAT(look("/opt/My Server/run"), HasSubstr("run\" not found"));
  write("b/my tool", 0755);
  EXPECT_EQ(look("my tool"), "");
  EXPECT_EQ(look((folder_ / "b/my tool").string()), "");
}

TEST_F(ProgramSearch, UserAndDirectoryHaveToBeThere) {
  spec_.working_directory = folder_ / "none";
  EXPECT_THAT(look("tool"), HasSubstr("none\" is no directory"));
  spec_.working_directory.clear();
  spec_.user = "nobody-of-this-name";
  EXPECT_EQ(look("tool"), "user \"nobody-of-this-name\" does not exist");
  spec_.user = "root";
  EXPECT_EQ(look("tool"), "");
  spec_.user = "12345";
  EXPECT_EQ(look("tool"), "");
}

// A number that is too large for a user id must not become 0, the default of its parser.
TEST(IdentityLookUp, TakesNumbersOfUsersOnly) {
  EXPECT_EQ(stdio::look_identity_up("4000000000"), "4000000000:4000000000:");
  EXPECT_FALSE(stdio::look_identity_up("99999999999"));
  EXPECT_FALSE(stdio::look_identity_up("12x"));
  EXPECT_FALSE(stdio::look_identity_up("no-such-user"));
}

struct Row {
  const char* text;
  const char* interpreter;  // empty: no interpreter line
  const char* searched = "";
  bool ends_with_cr = false;
};

TEST(ScriptHead, IsReadAsTheKernelDoes) {
  const Row table[] = {
      {"", ""},
      {"#", ""},
      {"#!", ""},
      {"#! \n/bin/sh", ""},
      {"\x7f"
       "ELF",
       ""},
      {"#!/bin/sh", "/bin/sh"},
      {"#! \t/bin/sh\t-e x\nenv", "/bin/sh"},
      {"#!/usr/bin/env node\n", "/usr/bin/env", "node"},
      {"#!/usr/bin/env -S A=b node --x\n", "/usr/bin/env", "node"},
      {"#!/usr/bin/env\n", "/usr/bin/env"},
      {"#!/bin/sh\r\n", "/bin/sh", "", true},
      {"#!/usr/bin/env python3\r\n", "/usr/bin/env", "python3", true},
  };
  for (const Row& row : table) {
    const auto head = ScriptHead::parse(row.text);
    ASSERT_EQ(head.has_value(), *row.interpreter != '\0') << row.text;
    if (!head) continue;
    EXPECT_EQ(head->interpreter, row.interpreter) << row.text;
    EXPECT_EQ(head->searched, row.searched) << row.text;
    EXPECT_EQ(head->ends_with_cr, row.ends_with_cr) << row.text;
  }
}

TEST(ScriptHead, LooksAtNoMoreThanTheKernel) {
  const std::string spaces(253, ' ');
  EXPECT_EQ(ScriptHead::parse("#!" + spaces + "/bin/sh\n")->interpreter, "/");
  EXPECT_FALSE(ScriptHead::parse("#!" + spaces + " /bin/sh\n"));
}

}  // namespace
}  // namespace stdgate
