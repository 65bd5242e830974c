// The start of commands: their surroundings, and the errors when they cannot be started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/unit/stdio/child_fixture.h"
#include "transports/net/file_descriptor.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using test::ChildTest;
using test::expect_exit;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Kind = pool::ExitStatus::Kind;

struct ChildStart : ChildTest {
  // The command's own description: the values of each word.
  std::map<std::string, std::set<std::string>> describe() {
    launch_rogue("describe");
    EXPECT_TRUE(exited());
    expect_exit(recorder, Kind::exited, 0);
    std::map<std::string, std::set<std::string>> out;
    std::istringstream lines(recorder.output);
    for (std::string word, value; lines >> word && std::getline(lines >> std::ws, value);) {
      out[word].insert(value);
    }
    return out;
  }
};

TEST_F(ChildStart, GivesExactlyWhatItShould) {
  ASSERT_EQ(::setenv("STDGATE_TEST_SECRET", "x", 1), 0);
  spec.environment = {{"PATH", "/bin"}, {"GREETING", "hello world"}, {"EMPTY", ""}};
  spec.working_directory = "/tmp";
  spec.limits.open_files = 77;
  auto seen = describe();
  EXPECT_THAT(seen["env"], UnorderedElementsAre("PATH=/bin", "GREETING=hello world", "EMPTY="));
  EXPECT_THAT(seen["fd"], UnorderedElementsAre("0", "1", "2"));
  EXPECT_THAT(seen["cwd"], ElementsAre(std::filesystem::canonical("/tmp").string()));
  EXPECT_THAT(seen["leads_group"], ElementsAre("1"));
  EXPECT_THAT(seen["no_new_privs"], ElementsAre("1"));
  EXPECT_THAT(seen["term_blocked"], ElementsAre("0"));
  EXPECT_THAT(seen["pipe_ignored"], ElementsAre("0"));
  EXPECT_THAT(seen["open_files"], ElementsAre("77"));
}

TEST_F(ChildStart, HasTheGatewaysDirectoryAndNoEnvironmentByDefault) {
  spec.environment.clear();
  auto seen = describe();
  EXPECT_EQ(seen["env"].size(), 0U);
  EXPECT_THAT(seen["cwd"], ElementsAre(std::filesystem::current_path().string()));
}

// A child does not inherit descriptors of the gateway, even without close-on-exec.
TEST_F(ChildStart, InheritsNoForgottenDescriptor) {
  const net::FileDescriptor forgotten(::dup(STDERR_FILENO));
  ASSERT_TRUE(forgotten.is_open());
  EXPECT_THAT(describe()["fd"], UnorderedElementsAre("0", "1", "2"));
}

TEST_F(ChildStart, ChangesTheUser) {
  const passwd* nobody = ::getpwnam("nobody");
  if (::getuid() == 0 && nobody != nullptr) {
    const std::string ids =
        std::to_string(nobody->pw_uid) + " gid " + std::to_string(nobody->pw_gid);
    spec.command = {"/bin/sh", "-c", "echo $(id -u) gid $(id -g)"};
    for (const std::string& user : {std::string("nobody"), std::to_string(nobody->pw_uid)}) {
      spec.user = user;
      launch(std::vector<std::string>(spec.command));
      ASSERT_TRUE(exited());
      EXPECT_EQ(recorder.output, ids + "\n");
    }
    return;
  }
  spec.user = "root";
  launch_rogue("describe");
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::not_started, EPERM);
}

TEST_F(ChildStart, SaysWhyItFailed) {
  struct Case {
    std::vector<std::string> command;
    const char* directory;
    const char* user;
    int error;
    const char* reason;
  };
  const Case cases[] = {
      {{"no-such-command"}, "", "", ENOENT, "exec: No such file or directory"},
      {{"/no/such/command"}, "", "", ENOENT, "exec: No such file or directory"},
      {{"/etc/passwd"}, "", "", EACCES, "exec: Permission denied"},
      {{"true"}, "/no/such/directory", "", ENOENT, "chdir: No such file or directory"},
      {{"true"}, "/etc/passwd", "", ENOTDIR, "chdir: Not a directory"},
      {{"true"}, "", "no-such-user", ENOENT, "find user: No such file or directory"},
  };
  for (const Case& c : cases) {
    spec.working_directory = c.directory;
    spec.user = c.user;
    launch(c.command);
    EXPECT_FALSE(recorder.exit.has_value());
    ASSERT_TRUE(exited()) << c.reason;
    expect_exit(recorder, Kind::not_started, c.error);
    EXPECT_EQ(recorder.exit->reason, c.reason);
    EXPECT_THAT(recorder.order, ElementsAre("exit"));
  }
}

TEST_F(ChildStart, FindsTheCommandInTheChildsPath) {
  const std::filesystem::path rogue = STDGATE_ROGUE;
  spec.environment = {{"PATH", "/nonexistent:" + rogue.parent_path().string()}};
  launch({rogue.filename().string(), "exit", "3"});
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::exited, 3);
}

// Runs the guard alone, with each of its first three descriptors open or closed.
TEST_F(ChildStart, TheGuardOpensWhatIsClosed) {
  for (int closed = 0; closed < 8; ++closed) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const net::FileDescriptor control(ends[0]);
    net::FileDescriptor theirs(ends[1]);
    const pid_t guard = ::fork();
    if (guard == 0) {
      ::dup2(theirs.get(), 3);
      for (const int fd : {0, 1, 2}) {
        if ((closed >> fd & 1) != 0) ::close(fd);
      }
      ::execl(STDGATE_GUARD, "child-guard", "--", "/bin/sh", "-c",
              "for fd in 0 1 2; do [ -e /proc/self/fd/$fd ] || exit 9; done; exit 7", nullptr);
      ::_exit(127);
    }
    theirs.reset();
    int status = 0;
    ASSERT_EQ(::waitpid(guard, &status, 0), guard);
    ASSERT_TRUE(WIFEXITED(status)) << closed;
    EXPECT_EQ(WEXITSTATUS(status), 7) << closed;
  }
}

TEST_F(ChildStart, WithoutAGuardItSaysSo) {
  stdio::ChildProcesses broken(loop, log, orphans, "/no/such/guard");
  spec.command = {"true"};
  child = broken.launch(spec, recorder);
  EXPECT_FALSE(recorder.exit.has_value());
  write("into the void");
  child->end(milliseconds(1));
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::not_started, ENOENT);
  EXPECT_THAT(recorder.order, ElementsAre("exit"));
}

TEST_F(ChildStart, AGuardThatIsNoneIsAFailure) {
  stdio::ChildProcesses broken(loop, log, orphans, "/bin/false");
  spec.command = {"true"};
  child = broken.launch(spec, recorder);
  ASSERT_TRUE(exited());
  expect_exit(recorder, Kind::not_started, 0);
  EXPECT_EQ(recorder.exit->reason, "guard: exited with 1");
}

TEST_F(ChildStart, MayBeEndedOrDestroyedBeforeItRuns) {
  launch_rogue("stubborn");
  child->end(Duration::zero());
  ASSERT_TRUE(exited());
  EXPECT_TRUE(all_gone_soon());
  launch_rogue("stubborn");
  child.reset();
  EXPECT_TRUE(all_gone_soon());
  EXPECT_TRUE(recorder.order.empty());
}

TEST_F(ChildStart, AFailedStartMayBeDestroyedBeforeItIsTold) {
  stdio::ChildProcesses broken(loop, log, orphans, "/no/such/guard");
  spec.command = {"true"};
  child = broken.launch(spec, recorder);
  child.reset();
  loop.run();
  EXPECT_TRUE(recorder.order.empty());
}

}  // namespace
}  // namespace stdgate
