// Hints: the meaning of the last lines on stderr, and texts about a sandbox that causes the
// failure.
#include "gateway/tools/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stdgate::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The missing variables of the lines, such as "A_KEY" or "A_KEY or B_KEY".
std::vector<std::string> missed_in(const std::vector<std::string>& lines) {
  std::vector<std::string> texts;
  for (const VariableChoice& choice : missing_variables(lines)) texts.push_back(choice.text());
  return texts;
}

TEST(StderrHints, MissingVariables) {
  EXPECT_THAT(missed_in({"KeyError: 'API_KEY'"}), ElementsAre("API_KEY"));
  EXPECT_THAT(missed_in({"KeyError: 'TOKEN'"}), ElementsAre("TOKEN"));
  EXPECT_THAT(missed_in({"Error: BRAVE_API_KEY environment variable is required"}),
              ElementsAre("BRAVE_API_KEY"));
  EXPECT_THAT(missed_in({"Missing required environment variables: A_B, C_D"}),
              ElementsAre("A_B", "C_D"));
  EXPECT_THAT(missed_in({"GITHUB_TOKEN not set", "GITHUB_TOKEN must be set"}),
              ElementsAre("GITHUB_TOKEN"));
  EXPECT_THAT(missed_in({"Please provide a personal access token (PAT) with --access-token "
                         "or set the A_TOKEN environment variable"}),
              ElementsAre("A_TOKEN"));
  EXPECT_THAT(missed_in({"API key is required: set the A_KEY environment variable"}),
              ElementsAre("A_KEY"));
  EXPECT_THAT(missed_in({"process.env.DB_URL is undefined"}), ElementsAre("DB_URL"));
}

TEST(StderrHints, VariablesOfWhichOneIsWanted) {
  for (const char* const line :
       {"fatal: no credentials; set API_KEY or API_TOKEN", "API_KEY or API_TOKEN is required",
        "API_KEY / API_TOKEN not set", "Missing one of API_KEY, API_TOKEN",
        "Please provide either API_KEY or the API_TOKEN environment variable"}) {
    EXPECT_THAT(missed_in({line}), ElementsAre("API_KEY or API_TOKEN")) << line;
  }
  EXPECT_THAT(missed_in({"API_KEY and API_TOKEN are required"}),
              ElementsAre("API_KEY", "API_TOKEN"));
  EXPECT_THAT(missed_in({"API_KEY or API_TOKEN is required", "API_TOKEN not set"}),
              ElementsAre("API_KEY or API_TOKEN"));
}

TEST(StderrHints, OfAChoiceTheVariableThatIsSetIsWanted) {
  const VariableChoice choice{{"A_KEY", "B_KEY"}};
  EXPECT_EQ(choice.wanted([](const std::string& name) { return name == "B_KEY"; }), "B_KEY");
  EXPECT_EQ(choice.wanted([](const std::string&) { return false; }), "A_KEY");
  config::BackendConfig backend;
  EXPECT_FALSE(choice.is_given_to(backend));
  backend.env["B_KEY"] = "x";
  EXPECT_TRUE(choice.is_given_to(backend));
}

TEST(StderrHints, WhatIsNoMissingVariable) {
  for (const char* const line :
       {"listening", "ERROR something is required", "API_KEY is fine", "a required argument",
        "missing semicolon in fooBAR_BAZ", "ENOENT: no such file, A_B", "", "_", "X is required",
        "API_KEY or API_TOKEN is fine"}) {
    EXPECT_THAT(missing_variables({line}), IsEmpty()) << line;
  }
}

TEST(StderrHints, Advice) {
  EXPECT_THAT(advice_for("Error: Cannot find module 'express'"), HasSubstr("npm ci"));
  EXPECT_THAT(advice_for("ModuleNotFoundError: No module named 'mcp'"), HasSubstr("Python"));
  EXPECT_THAT(advice_for("Error: listen EADDRINUSE: address already in use"), HasSubstr("stdio"));
  EXPECT_THAT(advice_for("sh: 1: uvx: not found"), HasSubstr("PATH"));
  EXPECT_THAT(advice_for("npm error 404  The requested resource 'x@*' could not be found"),
              HasSubstr("check its name"));
  EXPECT_THAT(advice_for("  cause: Because x was not found in the package registry and you require "
                         "x, we can conclude that your requirements are unsatisfiable."),
              HasSubstr("no such package"));
  EXPECT_THAT(advice_for("AttributeError: 'Server' object has no attribute 'list_resources'"),
              HasSubstr("mcp<2"));
  EXPECT_THAT(advice_for("ModuleNotFoundError: No module named 'mcp.types'. This is mcp 2.1"),
              HasSubstr("mcp<2"));
  EXPECT_THAT(advice_for("INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C)"),
              HasSubstr("serves HTTP"));
  EXPECT_THAT(advice_for("Error: Connection input stream is not set. Use arguments of "
                         "createConnection or set command line parameters"),
              HasSubstr("--stdio"));
  EXPECT_THAT(advice_for("fatal"), IsEmpty());
}

TEST(StderrHints, NpxAsks) {
  EXPECT_TRUE(asks_to_install("Need to install:\nfoo\nOk to proceed? (y) "));
  EXPECT_FALSE(asks_to_install("ok"));
}

// --- Texts about a sandbox that causes the failure

config::BackendConfig strict() {
  config::BackendConfig backend;
  backend.cwd = "/srv";
  backend.sandbox.used = true;
  backend.sandbox.filesystem.used = true;
  backend.sandbox.filesystem.default_read = false;
  backend.sandbox.network.access = config::NetworkAccess::none;
  return backend;
}

TEST(SandboxHints, Text) {
  EXPECT_THAT(sandbox_text({}), IsEmpty());
  config::BackendConfig backend = strict();
  EXPECT_EQ(sandbox_text(backend), "reads the system's files, cwd; writes nothing; no network");
  backend.sandbox.filesystem.read = {"/a"};
  backend.sandbox.filesystem.write = {"/b", "/c"};
  backend.sandbox.network.access = config::NetworkAccess::ports;
  backend.sandbox.network.connect = {config::Port{443}};
  EXPECT_EQ(sandbox_text(backend),
            "reads the system's files, cwd, /a, /b, /c; writes /b, /c; connects to 443 only");
  backend.sandbox.filesystem.default_read = true;
  backend.sandbox.network.access = config::NetworkAccess::outbound;
  EXPECT_EQ(sandbox_text(backend), "reads everything; writes /b, /c; outbound connections only");
  backend = {};
  backend.sandbox.used = true;
  EXPECT_EQ(sandbox_text(backend), "system calls only");
}

TEST(SandboxHints, FilesThatCannotBeReached) {
  for (const char* const line :
       {"exec: Permission denied", "Error: EACCES: permission denied, open '/x'",
        "  code: 'MODULE_NOT_FOUND',", "ModuleNotFoundError: No module named 'mcp'",
        "x: error while loading shared libraries: libx.so: cannot open shared object file"}) {
    EXPECT_THAT(sandbox_advice(strict(), line), HasSubstr("sandbox.filesystem.read")) << line;
    EXPECT_THAT(sandbox_advice({}, line), IsEmpty()) << line;
  }
  EXPECT_THAT(sandbox_advice(strict(), "exec: Permission denied"), HasSubstr("instead of strict"));
  EXPECT_THAT(sandbox_advice(strict(), "fatal: no database"), IsEmpty());
  config::BackendConfig backend = strict();
  backend.sandbox.filesystem.read = {"/a"};
  EXPECT_THAT(sandbox_advice(backend, "EACCES"), Not(HasSubstr("instead of strict")));
}

TEST(SandboxHints, WhatIsWithheldAlone) {
  config::BackendConfig writes = strict();
  writes.sandbox.filesystem.default_read = true;
  EXPECT_THAT(sandbox_advice(writes, "EACCES: permission denied, mkdir '/x'"),
              HasSubstr("sandbox.filesystem.write"));
  EXPECT_THAT(sandbox_advice(writes, "No module named 'mcp'"), IsEmpty());
  EXPECT_THAT(sandbox_advice(writes, "getaddrinfo ENOTFOUND api.example"),
              HasSubstr("no network; sandbox.network"));
  EXPECT_THAT(sandbox_advice(writes, "socket: Operation not permitted"),
              HasSubstr("sandbox.network"));
  writes.sandbox.network.access = config::NetworkAccess::any;
  EXPECT_THAT(sandbox_advice(writes, "getaddrinfo ENOTFOUND api.example"), IsEmpty());
}

}  // namespace
}  // namespace stdgate::tools
