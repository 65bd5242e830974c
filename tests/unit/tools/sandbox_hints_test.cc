// What is said of a sandbox that is in the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/tools/hints.h"

namespace stdgate::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
