#include "metrics/payload_log.h"

#include <gtest/gtest.h>

#include <array>

#include "metrics/redaction.h"
#include "tests/support/recording_log.h"

namespace stdgate {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* shown;
};

TEST(Redaction, HidesValuesByName) {
  const std::array<std::string, 2> hidden = {"password", "to\"ken"};
  const Case cases[] = {
      {"nothing to hide", R"({"a":1,"b":["password"]})", R"({"a":1,"b":["password"]})"},
      {"string", R"({"password":"x"})", R"({"password":"***"})"},
      {"escaped quote in the value", R"({"password":"x\"y","a":1})", R"({"password":"***","a":1})"},
      {"number", R"({"password":-1.5e3,"a":1})", R"({"password":"***","a":1})"},
      {"last member", R"({"a":{"password":true}})", R"({"a":{"password":"***"}})"},
      {"object", R"({"password":{"a":[1,{"b":"}"}]},"c":2})", R"({"password":"***","c":2})"},
      {"array", R"([{"password":["]",1]},3])", R"([{"password":"***"},3])"},
      {"white space", R"({"password" : "x" , "a":1})", R"({"password":"***" , "a":1})"},
      {"key with escapes", R"({"pass\u0077ord":"x"})", R"({"pass\u0077ord":"***"})"},
      {"hidden name with a quote", R"({"to\"ken":"x"})", R"({"to\"ken":"***"})"},
      {"as a value", R"({"a":"password","b":1})", R"({"a":"password","b":1})"},
      {"longer name", R"({"password2":"x"})", R"({"password2":"x"})"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(redact(test.text, hidden, 1000), test.shown) << test.name;
  }
}

TEST(Redaction, CutsAtTheLimitBetweenCharacters) {
  EXPECT_EQ(redact("[1234]", {}, 6), "[1234]");
  EXPECT_EQ(redact("[12345]", {}, 6), "[12345…");
  EXPECT_EQ(redact("[\"é\"]", {}, 3), "[\"…");
}

TEST(PayloadLog, WritesEachMessageOnceWithItsDirection) {
  test::RecordingLog log;
  LogConfig config;
  config.redact = {"key"};
  config.payload_limit = 30;
  PayloadLog payloads(log, config);
  payloads.on_backend(0, "files");
  const std::array<std::string_view, 3> parts = {R"({"id":)", "7", R"(,"result":{"key":"k"}})"};
  payloads.on_message(0, Direction::to_client, parts);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0],
            R"(message backend=files direction=to_client text={"id":7,"result":{"key":"***"}…)");
}

}  // namespace
}  // namespace stdgate
