// The texts about backends, made from the state of their gateway.
#include "gateway/tools/backend_lives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stdgate::tools {
namespace {

using testing::IsEmpty;

// The text about the only backend of a state.
std::string life_of_backend(const std::string& members) {
  const BackendLives lives = lives_in(R"({"backends":[{"name":"a",)" + members + "}]}");
  EXPECT_THAT(lives.unknown, IsEmpty());
  const auto life = lives.texts.find("a");
  return life == lives.texts.end() ? std::string() : life->second;
}

TEST(BackendLives, AFailureIsToldByTheLastThatItsServerHasWritten) {
  EXPECT_EQ(life_of_backend(R"("state":"failing","reason":"the child exited with code 1","exits":[
      {"failed":false,"detail":"exited with code 0","stderr":["fine"]},
      {"failed":true,"pid":7,"detail":"exited with code 3","stderr":["loading","no database",""]},
      {"failed":true,"detail":"exited with code 9","stderr":["older"]}])"),
            "failing: exited with code 3: no database");
  EXPECT_EQ(life_of_backend(R"("state":"failing","reason":"r","exits":[
      {"failed":true,"pid":7,"detail":"exited with code 3","stderr":[]}])"),
            "failing: exited with code 3");
  EXPECT_EQ(life_of_backend(R"("state":"failing","reason":"program \"x\" not found","exits":[
      {"failed":true,"pid":0,"detail":"could not be started: exec","stderr":[]}])"),
            "failing: program \"x\" not found");
  EXPECT_EQ(life_of_backend(R"("state":"failing","reason":"the child could not be started","exits":[
      {"failed":true,"pid":0,"detail":"could not be started: chdir","stderr":[]}])"),
            "failing: could not be started: chdir");
  EXPECT_EQ(life_of_backend(R"("state":"failing","reason":"program \"x\" not found in PATH \"/a\"",
      "exits":[])"),
            "failing: program \"x\" not found");
  EXPECT_EQ(life_of_backend(R"("state":"ready","exits":[{"failed":true,"detail":"d"}])"), "");
}

std::string failure_with(const std::string& lines) {
  return life_of_backend(R"("state":"failing","reason":"r","exits":[{"failed":true,"pid":7,)"
                         R"("detail":"exited with code 1","stderr":[)" +
                         lines + "]}]");
}

// npm ends with the place of its log, and uv wraps and indents its messages.
TEST(BackendLives, AFailureOfAPackageRunnerIsToldByWhatSaysSomething) {
  EXPECT_EQ(
      failure_with(
          R"("npm error code E404","npm error 404 Not Found - GET https://r.example/x",)"
          R"("npm error 404","npm error 404  'x@*' is not in this registry.","npm error 404",)"
          R"("npm error 404 Note that you can also install from a",)"
          R"("npm error 404 tarball, folder, http url, or git folder.",)"
          R"("npm error A complete log of this run can be found in: /l.log")"),
      "failing: exited with code 1: npm error 404  'x@*' is not in this registry.");
  EXPECT_EQ(failure_with(R"("npm ERR! it broke","npm error Log files were not written due to an )"
                         R"(error","npm notice","  ")"),
            "failing: exited with code 1: npm ERR! it broke");
  EXPECT_EQ(failure_with(R"("error: No solution found","  cause: Because x was not found")"),
            "failing: exited with code 1: cause: Because x was not found");
  EXPECT_EQ(failure_with(R"("  × No solution found:","  ╰─▶ Because x was not found in the",)"
                         R"("      registry, we can conclude","      that.")"),
            "failing: exited with code 1: Because x was not found in the registry, we can "
            "conclude that.");
}

TEST(BackendLives, AStartIsToldWithItsTime) {
  EXPECT_EQ(life_of_backend(R"("state":"starting","children":[
      {"state":"ready","age_seconds":99.0},
      {"state":"starting","age_seconds":3.5},{"state":"starting","age_seconds":12.9}])"),
            "starting for 12 s");
}

TEST(BackendLives, MembersThatAreNotUpAreNamed) {
  EXPECT_EQ(life_of_backend(R"("state":"ready","members":[
      {"backend":"good","up":true,"reason":"once"},
      {"backend":"unasked","up":false},
      {"backend":"bad","up":false,"reason":"no answer"},
      {"backend":"worse","up":false,"reason":"program \"y\" not found in PATH \"/a\""},
      {"backend":"slow","up":false,"reason":"no answer yet","state":"starting"}])"),
            "down: bad (no answer), worse (program \"y\" not found); starting: slow");
}

TEST(BackendLives, AMemberStartsWhoseBackendStarts) {
  const BackendLives lives = lives_in(R"({"backends":[
      {"name":"slow","state":"starting","children":[{"state":"starting","age_seconds":4.0}]},
      {"name":"team","state":"ready","members":[
        {"backend":"slow","up":false,"reason":"it has not answered tools/list in time"}]}]})");
  EXPECT_EQ(lives.texts.at("slow"), "starting for 4 s");
  EXPECT_EQ(lives.texts.at("team"), "starting: slow");
}

TEST(BackendLives, SleepAndReplacements) {
  EXPECT_EQ(life_of_backend(R"("state":"idle","asleep":true,"remembered":["greeting","tools"],
      "not_remembered":"they differ","replaced":{"memory":3})"),
            "asleep, remembered: greeting, tools; lists not remembered: they differ; "
            "3 replaced for memory");
}

TEST(BackendLives, WhatIsNoStateTellsNothing) {
  EXPECT_EQ(lives_in("<html>").unknown,
            "the states of the backends are not known here: what answers at the admin address is "
            "no stdgate");
}

TEST(BackendLives, OddValuesAreLeftOut) {
  EXPECT_EQ(life_of_backend(R"("state":"failing","asleep":true,"remembered":[1,{},"tools"],
      "replaced":{"age":"x","calls":-1,"memory":2})"),
            "asleep, remembered: tools; 2 replaced for memory; failing");
  EXPECT_EQ(life_of_backend(R"("state":"starting","children":[{"state":"starting",
      "age_seconds":1e300}])"),
            "starting for 1000000000 s");
}

}  // namespace
}  // namespace stdgate::tools
