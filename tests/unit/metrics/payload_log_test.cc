#include <gtest/gtest.h>

#include <array>
#include <random>

#include "gateway/rpc/json_text.h"
#include "metrics/logs/access_log.h"
#include "metrics/logs/redaction.h"
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
    EXPECT_EQ(logs::redact(test.text, hidden, 1000), test.shown) << test.name;
  }
}

TEST(Redaction, HidesNamesInLettersOfEitherCase) {
  const std::array<std::string, 2> hidden = {"passWord", "clé"};
  const Case cases[] = {
      {"upper", R"({"PASSWORD":"x"})", R"({"PASSWORD":"***"})"},
      {"mixed", R"({"Password":"x"})", R"({"Password":"***"})"},
      {"escaped", R"({"PASS\u0077ord":"x"})", R"({"PASS\u0077ord":"***"})"},
      {"beyond ASCII the same", R"({"Clé":"x"})", R"({"Clé":"***"})"},
      {"beyond ASCII another", R"({"CLÉ":"x"})", R"({"CLÉ":"x"})"},
      {"other bit", R"({"p`ssword":"x","[":"y"})", R"({"p`ssword":"x","[":"y"})"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(logs::redact(test.text, hidden, 1000), test.shown) << test.name;
  }
}

TEST(Redaction, HidesValuesInJsonThatAStringHolds) {
  const std::array<std::string, 1> hidden = {"password"};
  const Case cases[] = {
      {"a tool's result", R"({"content":[{"type":"text","text":"{\"password\":\"x\",\"a\":1}"}]})",
       R"({"content":[{"type":"text","text":"{\"password\":\"***\",\"a\":1}"}]})"},
      {"either case", R"(["{\"PassWord\":1}"])", R"(["{\"PassWord\":\"***\"}"])"},
      {"escape in the inner name", R"(["{\"pass\\u0077ord\":1}"])",
       R"(["{\"pass\\u0077ord\":\"***\"}"])"},
      {"quotes as \\u0022", R"(["{\u0022password\u0022:\u0022x\u0022}"])",
       R"(["{\"password\":\"***\"}"])"},
      {"escaped quote in the inner value", R"(["{\"password\":\"x\\\"y\",\"a\":2}"])",
       R"(["{\"password\":\"***\",\"a\":2}"])"},
      {"inner object", R"(["{\"password\":{\"a\":[1]},\"b\":2}"])",
       R"(["{\"password\":\"***\",\"b\":2}"])"},
      {"pretty", R"(["{\n  \"password\" : \"x\"\n}"])", R"(["{\n  \"password\":\"***\"\n}"])"},
      {"twice", R"(["[\"{\\\"password\\\":\\\"x\\\"}\"]"])",
       R"(["[\"{\\\"password\\\":\\\"***\\\"}\"]"])"},
      {"a string in a string", R"(["\"{\\\"password\\\":1}\""])",
       R"(["\"{\\\"password\\\":\\\"***\\\"}\""])"},
      {"behind other text", R"(["Found: {\"password\":\"x\"} and more"])",
       R"(["Found: {\"password\":\"***\"} and more"])"},
      {"behind an odd quote", R"(["a 5\" pipe: {\"password\":\"x\"}"])",
       R"(["a 5\" pipe: {\"password\":\"***\"}"])"},
      {"a line each", R"(["{\"a\":1}\n{\"password\":2}\n"])",
       R"(["{\"a\":1}\n{\"password\":\"***\"}\n"])"},
      {"cut off in the value", R"(["{\"password\":\"x"])", R"(["{\"password\":\"***\""])"},
      {"cut off in an escape", R"(["{\"a\":\"\\u00"])", R"(["{\"a\":\"\\u00"])"},
      {"no JSON escape", R"(["{\"a\":\"C:\\temp\\x\",\"password\":1}"])",
       R"(["{\"a\":\"C:\\temp\\x\",\"password\":\"***\"}"])"},
      {"no such name", R"(["{\"a\":\"\u00e9\\n\"}"])", R"(["{\"a\":\"\u00e9\\n\"}"])"},
      {"the name as a value", R"(["[\"password\",1]"])", R"(["[\"password\",1]"])"},
      {"a name with JSON", R"({"{\"password\":1}":2})", R"({"{\"password\":1}":2})"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(logs::redact(test.text, hidden, 1000), test.shown) << test.name;
    EXPECT_EQ(logs::redact(test.text, {}, 1000), test.text) << test.name;
  }
}

std::string nested(std::string text, size_t levels) {
  for (size_t i = 0; i < levels; ++i) {
    std::string string;
    rpc::append_json_string(string, text);
    text = "[" + string + "]";
  }
  return text;
}

TEST(Redaction, HidesWholeWhatIsNestedTooDeep) {
  const std::array<std::string, 1> hidden = {"password"};
  constexpr size_t kAll = 1 << 20;
  const std::string secret = R"({"password":"x"})";
  EXPECT_EQ(logs::redact(nested(secret, logs::kMaxNesting), hidden, kAll),
            nested(R"({"password":"***"})", logs::kMaxNesting));
  EXPECT_EQ(logs::redact(nested(secret, logs::kMaxNesting + 1), hidden, kAll),
            nested(R"(["***"])", logs::kMaxNesting));
}

// The shown part of a message never contains the secret, wherever the message is cut.
TEST(Redaction, ACutShowsNothingThatIsHidden) {
  const std::array<std::string, 1> hidden = {"password"};
  const std::string text = R"({"a":")" + nested(R"({"b":"é","password":"SECRET"})", 3).substr(2);
  for (size_t limit = 0; limit <= text.size() + 1; ++limit) {
    const std::string shown = logs::redact(text, hidden, limit);
    EXPECT_EQ(shown.find('S'), std::string::npos) << shown;
    EXPECT_LE(shown.size(), limit + std::string("…").size());
  }
}

TEST(Redaction, TakesAnyTextInAString) {
  const std::array<std::string, 1> hidden = {"password"};
  std::mt19937 random(7);
  constexpr std::string_view kPieces = "\"\\u0{}[]:,\"pas";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t size = random() % 40; size > 0; --size) text += kPieces[random() % kPieces.size()];
    if (random() % 2 == 0) text += R"( "password":"S")";
    const std::string shown = logs::redact(nested(text, 1 + random() % 3), hidden, random() % 200);
    EXPECT_EQ(shown.find('S'), std::string::npos) << text;
  }
}

TEST(Redaction, CutsAtTheLimitBetweenCharacters) {
  EXPECT_EQ(logs::redact("[1234]", {}, 6), "[1234]");
  EXPECT_EQ(logs::redact("[12345]", {}, 6), "[12345…");
  EXPECT_EQ(logs::redact("[\"é\"]", {}, 3), "[\"…");
}

TEST(PayloadLog, WritesEachMessageOnceWithItsDirection) {
  test::RecordingLog log;
  config::LogConfig config;
  config.redact = {"key"};
  config.payload_limit = 30;
  logs::PayloadLog payloads(log, config);
  payloads.on_backend(0, "files");
  const std::array<std::string_view, 3> parts = {R"({"id":)", "7", R"(,"result":{"key":"k"}})"};
  payloads.on_message(0, Direction::to_client, parts);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0],
            R"(message backend=files direction=to_client text={"id":7,"result":{"key":"***"}…)");
  payloads.on_message(0, Direction::to_child, parts);
  EXPECT_NE(log.lines.at(1).find("direction=from_client"), std::string::npos);
}

}  // namespace
}  // namespace stdgate
