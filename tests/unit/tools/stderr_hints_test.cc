// What the last lines on stderr say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/tools/hints.h"

namespace stdgate::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(StderrHints, MissingVariables) {
  EXPECT_THAT(missing_variables({"KeyError: 'API_KEY'"}), ElementsAre("API_KEY"));
  EXPECT_THAT(missing_variables({"KeyError: 'TOKEN'"}), ElementsAre("TOKEN"));
  EXPECT_THAT(missing_variables({"Error: BRAVE_API_KEY environment variable is required"}),
              ElementsAre("BRAVE_API_KEY"));
  EXPECT_THAT(missing_variables({"Missing required environment variables: A_B, C_D"}),
              ElementsAre("A_B", "C_D"));
  EXPECT_THAT(missing_variables({"GITHUB_TOKEN not set", "GITHUB_TOKEN must be set"}),
              ElementsAre("GITHUB_TOKEN"));
  EXPECT_THAT(missing_variables({"process.env.DB_URL is undefined"}), ElementsAre("DB_URL"));
}

TEST(StderrHints, WhatIsNoMissingVariable) {
  for (const char* const line :
       {"listening", "ERROR something is required", "API_KEY is fine", "a required argument",
        "missing semicolon in fooBAR_BAZ", "ENOENT: no such file, A_B", "", "_", "X is required"}) {
    EXPECT_THAT(missing_variables({line}), IsEmpty()) << line;
  }
}

TEST(StderrHints, Advice) {
  EXPECT_THAT(advice_for("Error: Cannot find module 'express'"), HasSubstr("npm ci"));
  EXPECT_THAT(advice_for("ModuleNotFoundError: No module named 'mcp'"), HasSubstr("Python"));
  EXPECT_THAT(advice_for("Error: listen EADDRINUSE: address already in use"), HasSubstr("stdio"));
  EXPECT_THAT(advice_for("sh: 1: uvx: not found"), HasSubstr("PATH"));
  EXPECT_THAT(advice_for("fatal"), IsEmpty());
}

TEST(StderrHints, NpxAsks) {
  EXPECT_TRUE(asks_to_install("Need to install:\nfoo\nOk to proceed? (y) "));
  EXPECT_FALSE(asks_to_install("ok"));
}

}  // namespace
}  // namespace stdgate::tools
