// The rules find what is planted, and nothing else.
#include "tests/structure/rules.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace stdgate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Case {
  const char* path;
  const char* text;
  const char* violation;  // without the path; nullptr: none
};

void check(const Case& expected) {
  SCOPED_TRACE(std::string(expected.path) + ": " + expected.text);
  const std::vector<std::string> found = violations_of_file(expected.path, expected.text);
  if (expected.violation == nullptr) {
    EXPECT_THAT(found, IsEmpty());
  } else {
    EXPECT_THAT(found, ElementsAre(std::string(expected.path) + ": " + expected.violation));
  }
}

TEST(Rules, IncludesOfOurs) {
  const Case cases[] = {
      {"gateway/rpc/a.cc", "#include \"gateway/base/time.h\"\n", nullptr},
      {"gateway/rpc/a.cc", "#include \"gateway/rpc/b.h\"\n", nullptr},
      {"gateway/rpc/a.cc", "#include \"gateway/pool/backend.h\"\n",
       "may not include \"gateway/pool/backend.h\""},
      {"gateway/base/a.cc", "#include \"gateway/rpc/fault.h\"\n",
       "may not include \"gateway/rpc/fault.h\""},
      {"gateway/base/a.cc", "  #  include \"gateway/observer.h\"  // why\n",
       "may not include \"gateway/observer.h\""},
      {"gateway/config/a.cc", "#include \"gateway/observer.h\"\n",
       "may not include \"gateway/observer.h\""},
      {"gateway/pool/a.cc", "#include \"gateway/observer.h\"\n", nullptr},
      {"gateway/pool/a.cc", "#include \"gateway/mcp/handshake.h\"\n",
       "may not include \"gateway/mcp/handshake.h\""},
      {"gateway/mcp/a.cc", "#include \"transports/net/loop.h\"\n",
       "may not include \"transports/net/loop.h\""},
      {"gateway/observer.cc", "#include \"gateway/observer.h\"\n", nullptr},
      {"gateway/demo/demo_server.cc", "#include \"gateway/config/config.h\"\n",
       "may not include \"gateway/config/config.h\""},
      {"gateway/main.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"gateway/program.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"gateway/shutdown.cc", "#include \"gateway/pool/backend_set.h\"\n", nullptr},
      {"gateway/shutdown.cc", "#include \"transports/net/loop.h\"\n",
       "may not include \"transports/net/loop.h\""},
      {"gateway/main.cc", "#include \"metrics/observers.h\"\n", nullptr},
      {"transports/net/a.cc", "#include \"transports/http/b.h\"\n",
       "may not include \"transports/http/b.h\""},
      {"transports/net/a.cc", "#include \"gateway/pool/backend.h\"\n",
       "may not include \"gateway/pool/backend.h\""},
      {"transports/http/a.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"transports/http/a.cc", "#include \"transports/stdio/guard.h\"\n",
       "may not include \"transports/stdio/guard.h\""},
      {"transports/http/a.cc", "#include \"metrics/observers.h\"\n",
       "may not include \"metrics/observers.h\""},
      {"metrics/a.cc", "#include \"transports/net/loop.h\"\n",
       "may not include \"transports/net/loop.h\""},
      {"metrics/a.cc", "#include \"gateway/observer.h\"\n", nullptr},
      {"gateway/somewhere/a.cc", "\n", "is in no layer; add its folder to the table"},
      {"tests/unit/net/a.cc", "#include \"transports/http/b.h\"\n", nullptr},
  };
  for (const Case& expected : cases) {
    check(expected);
  }
}

TEST(Rules, IncludesOfLibraries) {
  const Case cases[] = {
      {"gateway/pool/a.cc", "#include <uv.h>\n", "may not include <uv.h>"},
      {"transports/http/a.cc", "#include <uv.h>\n", "may not include <uv.h>"},
      {"metrics/a.cc", "#include <uv.h>\n", "may not include <uv.h>"},
      {"transports/net/a.cc", "#include <uv.h>\n", nullptr},
      {"gateway/rpc/a.cc", "#include <llhttp.h>\n", "may not include <llhttp.h>"},
      {"transports/net/a.cc", "#include <llhttp.h>\n", "may not include <llhttp.h>"},
      {"gateway/pool/a.cc", "#include <prometheus/registry.h>\n",
       "may not include <prometheus/registry.h>"},
      {"transports/http/a.cc", "#include <prometheus/registry.h>\n",
       "may not include <prometheus/registry.h>"},
      {"transports/http/a.cc", "#include <spdlog/spdlog.h>\n", "may not include <spdlog/spdlog.h>"},
      {"metrics/a.cc", "#include <spdlog/spdlog.h>\n", nullptr},
      {"gateway/config/a.h", "// A.\n#pragma once\n#include <yaml-cpp/yaml.h>\n",
       "may not include <yaml-cpp/yaml.h>"},
      {"gateway/config/a.cc", "#include <yaml-cpp/yaml.h>\n", nullptr},
      {"gateway/config/a.cc", "#include <CLI/CLI.hpp>\n", "may not include <CLI/CLI.hpp>"},
      {"gateway/command_line.cc", "#include <CLI/CLI.hpp>\n", nullptr},
      {"gateway/rpc/a.h", "// A.\n#pragma once\n#include <simdjson.h>\n",
       "may not include <simdjson.h>"},
      {"gateway/rpc/a.cc", "#include <simdjson.h>\n", nullptr},
      {"gateway/pool/a.cc", "#include <sys/socket.h>\n", "may not include <sys/socket.h>"},
      {"gateway/pool/a.cc", "#include <spawn.h>\n", "may not include <spawn.h>"},
      {"transports/net/a.cc", "#include <sys/socket.h>\n", nullptr},
  };
  for (const Case& expected : cases) {
    check(expected);
  }
}

TEST(Rules, TimeChanceAndEnvironment) {
  const Case cases[] = {
      {"gateway/pool/a.cc", "auto t = std::chrono::steady_clock::now();\n",
       "may not use steady_clock::now"},
      {"gateway/pool/a.cc", "auto t = std::chrono::system_clock::now();\n",
       "may not use system_clock::now"},
      {"gateway/pool/a.cc", "// not steady_clock::now()\n", nullptr},
      {"gateway/pool/a.cc", "clock_gettime(CLOCK_MONOTONIC, &t);\n", "may not use clock_gettime"},
      {"gateway/config/a.cc", "std::getenv(\"HOME\");\n", "may not use getenv"},
      {"gateway/pool/a.cc", "int r = rand ();\n", "may not use rand ("},
      {"gateway/pool/a.cc", "int r = operand(1);\n", nullptr},
      {"gateway/pool/a.cc", "std::random_device seed;\n", "may not use random_device"},
      {"gateway/demo/demo_server.cc", "std::chrono::steady_clock::now();\n", nullptr},
      {"gateway/main.cc", "std::getenv(\"HOME\");\n", nullptr},
      {"transports/net/a.cc", "std::chrono::steady_clock::now();\n", nullptr},
  };
  for (const Case& expected : cases) {
    check(expected);
  }
}

TEST(Rules, NamesAndHeaders) {
  const Case cases[] = {
      {"gateway/base/utils.cc", "\n", "has a name that says nothing (utils, common, manager)"},
      {"tests/common/a.cc", "\n", "has a name that says nothing (utils, common, manager)"},
      {"gateway/pool/child_manager.cc", "\n",
       "has a name that says nothing (utils, common, manager)"},
      {"gateway/pool/uncommon_case.cc", "\n", nullptr},
      {"gateway/base/a.h", "// A job.\n#pragma once\n", nullptr},
      {"gateway/base/a.h", "#pragma once\n", "does not begin with a comment that says its job"},
      {"tests/unit/a.h", "// A job.\n", "lacks #pragma once"},
      {"gateway/base/a.h", "// Needs #pragma once.\n", "lacks #pragma once"},
  };
  for (const Case& expected : cases) {
    check(expected);
  }
}

TEST(Rules, Length) {
  std::string text;
  for (int line = 0; line < 500; ++line) {
    text += "\n";
  }
  check({"gateway/base/a.cc", text.c_str(), nullptr});
  check({"tests/unit/a.cc", (text + "\n").c_str(), nullptr});
  check({"gateway/base/a.cc", (text + "\n").c_str(), "is longer than 500 lines"});
}

TEST(Rules, TopLevel) {
  EXPECT_TRUE(allowed_at_top("gateway"));
  EXPECT_TRUE(allowed_at_top(".clang-format"));
  EXPECT_FALSE(allowed_at_top("src"));
  EXPECT_FALSE(allowed_at_top("NOTES.md"));
  EXPECT_FALSE(allowed_at_top("CMakePresets.json"));
}

}  // namespace
}  // namespace stdgate
