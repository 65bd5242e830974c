#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

TEST(LogFormatHint, IsReadAsFarAsItCanBe) {
  struct Case {
    const char* yaml;
    std::vector<config::Setting> settings;
    config::LogFormat format;
  };
  const config::Setting json{{"log", "format"}, "json"};
  const config::Setting text{{"log", "format"}, "text"};
  const config::Setting level{{"log", "level"}, "json"};
  const Case cases[] = {
      {"", {}, config::LogFormat::text},
      {"log: { format: json }", {}, config::LogFormat::json},
      {"lisen: x\nlog: { format: json, levle: 3 }", {}, config::LogFormat::json},
      {"log: { format: xml }", {}, config::LogFormat::text},
      {"log: { format: [json] }", {}, config::LogFormat::text},
      {"log: json", {}, config::LogFormat::text},
      {"[log]", {}, config::LogFormat::text},
      {"log: { format: json", {}, config::LogFormat::text},  // no YAML
      {"{", {json}, config::LogFormat::json},
      {"log: { format: json }", {text}, config::LogFormat::text},
      {"", {level}, config::LogFormat::text},
  };
  for (const Case& given : cases) {
    EXPECT_EQ(config::log_format_hint(given.yaml, given.settings), given.format) << given.yaml;
  }
}

}  // namespace
}  // namespace stdgate
