// The rules find planted violations, and nothing else.
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
  const char* violation;  // without the path; null: no violation
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
      {"gateway/rpc/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"gateway/base/a.cc", "#include \"gateway/rpc/fault.h\"\n",
       "may not include \"gateway/rpc/fault.h\""},
      {"gateway/base/a.cc", "  #  include \"gateway/observer.h\"  // why\n",
       "may not include \"gateway/observer.h\""},
      {"gateway/config/a.cc", "#include \"gateway/observer.h\"\n",
       "may not include \"gateway/observer.h\""},
      {"gateway/policy/a.cc", "#include \"gateway/config/config.h\"\n", nullptr},
      {"gateway/policy/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"gateway/config/a.cc", "#include \"gateway/policy/quotas.h\"\n",
       "may not include \"gateway/policy/quotas.h\""},
      {"gateway/pool/a.cc", "#include \"gateway/policy/quotas.h\"\n", nullptr},
      {"gateway/pool/a.cc", "#include \"gateway/observer.h\"\n", nullptr},
      {"gateway/pool/a.cc", "#include \"gateway/mcp/handshake.h\"\n",
       "may not include \"gateway/mcp/handshake.h\""},
      {"gateway/mcp/a.cc", "#include \"transports/net/loop.h\"\n",
       "may not include \"transports/net/loop.h\""},
      {"gateway/observer.cc", "#include \"gateway/observer.h\"\n", nullptr},
      {"gateway/demo/demo_server.cc", "#include \"gateway/config/config.h\"\n",
       "may not include \"gateway/config/config.h\""},
      {"gateway/main.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"gateway/app/process.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"gateway/app/shutdown.cc", "#include \"gateway/backend/upstream.h\"\n", nullptr},
      {"gateway/app/shutdown.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"gateway/mcp/a.cc", "#include \"gateway/backend/upstream.h\"\n", nullptr},
      {"gateway/mcp/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"transports/http/a.cc", "#include \"gateway/backend/upstream.h\"\n", nullptr},
      {"transports/http/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"transports/websocket/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"gateway/app/shutdown.cc", "#include \"transports/net/loop.h\"\n",
       "may not include \"transports/net/loop.h\""},
      {"gateway/main.cc", "#include \"metrics/observers.h\"\n", nullptr},
      {"transports/net/a.cc", "#include \"transports/http/b.h\"\n",
       "may not include \"transports/http/b.h\""},
      {"transports/net/a.cc", "#include \"gateway/backend/backend.h\"\n",
       "may not include \"gateway/backend/backend.h\""},
      {"transports/http/a.cc", "#include \"transports/net/loop.h\"\n", nullptr},
      {"transports/http/a.cc", "#include \"transports/stdio/guard/guard.h\"\n",
       "may not include \"transports/stdio/guard/guard.h\""},
      {"transports/stdio/guard/a.cc", "#include \"transports/stdio/process_tree.h\"\n",
       "may not include \"transports/stdio/process_tree.h\""},
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
      {"transports/http/exchange.cc", "#include <llhttp.h>\n", "may not include <llhttp.h>"},
      {"transports/http/http1_head.h", "// A.\n#pragma once\n#include <llhttp.h>\n", nullptr},
      {"transports/http/exchange.cc", "#include \"transports/http/http1_head.h\"\n",
       "may not include <transports/http/http1_head.h>"},
      {"gateway/pool/a.cc", "#include <prometheus/registry.h>\n",
       "may not include <prometheus/registry.h>"},
      {"transports/http/a.cc", "#include <prometheus/registry.h>\n",
       "may not include <prometheus/registry.h>"},
      {"transports/http/a.cc", "#include <spdlog/spdlog.h>\n", "may not include <spdlog/spdlog.h>"},
      {"metrics/logs/a.cc", "#include <spdlog/spdlog.h>\n", nullptr},
      {"gateway/config/a.h", "// A.\n#pragma once\n#include <yaml-cpp/yaml.h>\n",
       "may not include <yaml-cpp/yaml.h>"},
      {"gateway/config/a.cc", "#include <yaml-cpp/yaml.h>\n", nullptr},
      {"gateway/config/a.cc", "#include <CLI/CLI.hpp>\n", "may not include <CLI/CLI.hpp>"},
      {"gateway/app/command_line.cc", "#include <CLI/CLI.hpp>\n", nullptr},
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

TEST(Rules, TimeChanceEnvironmentAndErrorCodes) {
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
      {"gateway/backend/a.cc", "constexpr int kMethodNotFound = -32601;\n", "may not use -32601"},
      {"gateway/rpc/fault.cc", "constexpr int kMethodNotFound = -32601;\n", nullptr},
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

TEST(Rules, Namespaces) {
  const Case cases[] = {
      {"gateway/rpc/a.cc", "namespace stdgate::rpc {\n}\n", nullptr},
      {"gateway/rpc/a.cc", "namespace stdgate::rpc::faults {\n}\n", nullptr},
      {"gateway/rpc/a.cc", "namespace stdgate {\n}\n",
       "defines something in stdgate, not in stdgate::rpc"},
      {"gateway/base/a.cc", "namespace stdgate {\n}\n", nullptr},
      {"transports/http/a.cc",
       "namespace stdgate::pool {\nclass call::Call;\nstruct Place;\n}\n"
       "namespace stdgate::http {\n}\n",
       nullptr},
      {"transports/http/a.cc", "namespace stdgate::pool {\nclass call::Call {};\n}\n",
       "defines something in stdgate::pool, not in stdgate::http"},
      {"tests/unit/a.cc", "namespace stdgate {\n}\n", nullptr},
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

// Built from parts, because this file must not contain such a URL itself.
std::string url(const std::string& host) {
  return "https:/"
         "/" +
         host + "/x";
}

TEST(Rules, NamesOfOneMachine) {
  const std::string folder = "names a folder of this machine: ";
  const std::string registry = "names a package registry: ";
  const struct {
    std::string text;
    std::string checkout;
    std::string violation;  // without the path; empty: no violation
  } cases[] = {
      {"cd /here/project/tests", "/here/project", folder + "/here/project"},
      {"at /here/project", "/here/project", folder + "/here/project"},
      {"cd \"/here/other\"", "/here/project", folder + "/here"},
      {"/here", "/here/project", folder + "/here"},
      {"cd /hereafter, /there/here, ${ROOT}/here, ./here", "/here/project", ""},
      {"/home/ada", "/home/ben/project", ""},
      {"/home/ben/project", "/home/ben/project", folder + "/home/ben/project"},
      {"/usr/lib", "/usr/project", ""},
      {"/", "/", ""},
      {url("registry.example.org"), "/here", registry + "registry.example.org"},
      {"see " + url("deb.debian.org") + "; " + url("example.org"), "/here",
       registry + "deb.debian.org"},
      {url("example.org") + " registry mirror ://", "/here", ""},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.text);
    const std::vector<std::string> found =
        machine_names_in_file("a", expected.text, expected.checkout);
    if (expected.violation.empty()) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre("a: " + expected.violation));
    }
  }
}

TEST(Rules, IntegersOfFixedWidthAreIncluded) {
  const std::string type = std::string("int64") + "_t";  // split, so that this file does not use it
  const std::string uses = "u" + type + " a;\n";
  EXPECT_THAT(integers_by_luck({{"a.h", uses}, {"b.h", "#include <array>\n" + uses}}),
              ElementsAre("a.h: uses integers of fixed width; include <cstdint>",
                          "b.h: uses integers of fixed width; include <cstdint>"));
  EXPECT_THAT(integers_by_luck({{"a.h", "#include <cstdint>\n" + uses},
                                {"b.h", "#include \"a.h\"\n"},
                                {"c.cc", "#include \"b.h\"\nstd::" + type + " c;\n"},
                                {"d.cc", "// " + type + "\nstd::string my_" + type + "ype;\n"}}),
              IsEmpty());
  // A header that includes itself.
  EXPECT_THAT(integers_by_luck({{"a.h", "#include \"a.h\"\n" + uses}}), testing::SizeIs(1));
}

TEST(Rules, AClassMayHaveSoManyLines) {
  const auto lines = [](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "int a;\n";
    return text;
  };
  const std::string header = lines(200);
  EXPECT_THAT(long_classes({{"gateway/a.h", header}, {"gateway/a.cc", lines(500)}}), IsEmpty());
  EXPECT_THAT(long_classes({{"gateway/a.h", header}, {"gateway/a.cc", lines(501)}}),
              ElementsAre("gateway/a.h: has 701 lines with its source, more than 700"));
  EXPECT_THAT(long_classes({{"gateway/a.h", header}, {"gateway/b.cc", lines(501)}}), IsEmpty());
  EXPECT_THAT(long_classes({{"tests/a.h", header}, {"tests/a.cc", lines(501)}}), IsEmpty());
}

TEST(Rules, ABodyInAHeaderHasThreeLines) {
  const std::string three = "{\n  a();\n  b();\n  c();\n}\n";
  const std::string four = "{\n  a();\n  b();\n  c();\n  d();\n}\n";
  const struct {
    std::string text;
    int line = 0;  // of the long body; 0: none is long
  } cases[] = {
      {"inline void f() " + three},
      {"inline void f() " + four, 1},
      {"int g();\n\ninline void f() const noexcept " + four, 3},
      // Not counted: comments and blank lines. Brackets in comments, quotes and directives are
      // none.
      {"void f() {\n  // Why.\n\n  a();  // {\n  /* {\n   */\n  b('{');\n  c(\"{\\\"\");\n}\n"},
      {"void f() {\n  a(R\"x(})\"\n)x\");\n  b('\\'');\n  return 1'000;\n}\n", 1},
      {"#define F(x) \\\n  void f() { \\\n    x\nint g();\n"},
      // Classes, also nested ones.
      {"namespace a {\nclass B : private C<D> {\n public:\n  void f() override " + three +
       "};\n}\n"},
      {"namespace a {\nclass B : private C<D> {\n public:\n  void f() override " + four + "};\n}\n",
       4},
      {"struct A {\n  struct B {\n    int c = 0;\n    void f() " + four + "  };\n};\n", 4},
      {"struct A {\n  struct B {\n    int c = 0;\n  };\n  void f() " + four + "};\n", 5},
      {"template <>\nstruct A<int> {\n  void f() " + four + "};\n", 3},
      {"struct A {\n  bool operator==(const A&) const " + four + "};\n", 2},
      // Values in braces are no bodies, however long.
      {"enum class A : int {\n  a,\n  b,\n  c,\n  d\n};\n"},
      {"struct A {\n  int a[4] = {\n    1,\n    2,\n    3,\n    4};\n  int b{1};\n  void f() " +
           four + "};\n",
       8},
      // Signatures and initializer lists take as many lines as they need.
      {"struct A {\n  A(int b,\n    int c)\n      : b_(b),\n        c_{c},\n        d_(b),\n       "
       " e_{c} {}\n};\n"},
      {"struct A {\n  A(int b,\n    int c)\n      : D<int>{b},\n        c_{c} " + four + "};\n", 5},
      {"struct A {\n  auto f(\n      int a = {}) const -> std::string " + four + "};\n", 3},
      // A lambda is a part of the body around it; in a value, it is a body.
      {"void f() {\n  each([] {\n    a();\n  });\n}\n"},
      {"void f() {\n  each([] {\n    a();\n    b();\n  });\n}\n", 1},
      {"struct A {\n  A() : b_([](int c) -> std::string " + four + ") {}\n};\n", 2},
      {"inline const auto kA = [] " + four + "();\n", 1},
      {"inline constexpr auto kA = [] " + four + "();\n"},  // runs in the compiler
      // Templates are long below their class only.
      {"template <class T>\nvoid A<T>::f() " + four},
      {"void f(auto&& a) " + four},
      {"template <class T>\nstruct A {\n  void f() " + four + "};\n", 3},
      {"struct A {\n  template <class T>\n  void f() " + four + "};\n", 3},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.text);
    const std::vector<std::string> found = long_bodies({{"gateway/a.h", expected.text}});
    if (expected.line == 0) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found, ElementsAre(testing::StartsWith(
                             "gateway/a.h:" + std::to_string(expected.line) + ": has a body of ")));
    }
  }
}

TEST(Rules, ALongBodyIsReportedWithItsLines) {
  EXPECT_THAT(
      long_bodies({{"gateway/a.h", "void f() {\n  a();\n  // Why.\n  b();\n  c();\n  d();\n}\n"}}),
      ElementsAre("gateway/a.h:1: has a body of 4 lines, more than 3"));
}

TEST(Rules, BodiesMayBeLongerInSources) {
  const std::string body = "inline void f() {\n  a();\n  b();\n  c();\n  d();\n}\n";
  EXPECT_THAT(long_bodies({{"gateway/a.cc", body}, {"tests/a.h", body}}), IsEmpty());
  // A header of the data path, which has to have a reason to be listed.
  EXPECT_THAT(long_bodies({{"gateway/base/text.h", body}}), IsEmpty());
  EXPECT_THAT(long_bodies({{"gateway/base/text.h", "void f();\n"}}),
              ElementsAre("gateway/base/text.h: needs no place in kDataPath"));
}

TEST(Rules, TopLevel) {
  EXPECT_TRUE(allowed_at_top("gateway"));
  EXPECT_TRUE(allowed_at_top(".clang-format"));
  EXPECT_FALSE(allowed_at_top("src"));
  EXPECT_FALSE(allowed_at_top("NOTES.md"));
  EXPECT_TRUE(allowed_at_top("CMakePresets.json"));
  EXPECT_FALSE(allowed_at_top("compile_commands.json"));
}

}  // namespace
}  // namespace stdgate
