// The forms of `traces`, which says where spans are sent, and the errors for invalid ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/config/config_parser.h"

namespace stdgate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

tl::expected<std::string, std::string> read_token_file(const std::string& file, size_t /*limit*/) {
  if (file == "missing") return tl::unexpected<std::string>("cannot read missing");
  return file == "token" ? "Bearer hush\n" : "-----BEGIN";
}

auto parse_traces(const std::string& traces) {
  return config::parse_config(
      "traces: { " + traces + " }\nbackends: { a: { command: [x] } }\n",
      [](const std::string&) { return std::nullopt; }, {}, read_token_file);
}

std::string traces_errors(const std::string& traces) {
  const auto config = parse_traces(traces);
  std::string lines;
  if (!config) {
    for (const config::ConfigError& error : config.error()) lines += error.to_string("f") + "\n";
  }
  return lines;
}

config::TracesConfig traces_of(const std::string& traces) {
  EXPECT_EQ(traces_errors(traces), "") << traces;
  const auto config = parse_traces(traces);
  return config ? config->traces : config::TracesConfig();
}

const std::string kEndpoint = "endpoint: \"https://c.example\", ";

TEST(ConfigTraces, Endpoints) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"},
      {"http://collector:4318/", "http://collector:4318/v1/traces"},
      {"https://c.example?a=b", "https://c.example/v1/traces?a=b"},
      {"https://c.example/otlp/v1/traces", "https://c.example/otlp/v1/traces"},
      {"https://c.example/x/", "https://c.example/x/"},
  };
  for (const auto& [written, used] : cases) {
    EXPECT_EQ(traces_of("endpoint: \"" + std::string(written) + "\"").endpoint, used);
  }
  EXPECT_FALSE(config::TracesConfig().is_used());
  for (const char* bad :
       {"", "c.example", "grpc://c:4317", "https://", "https://a:b@c", "http://c/#x"}) {
    EXPECT_THAT(traces_errors("endpoint: \"" + std::string(bad) + "\""),
                HasSubstr("traces.endpoint: expected a URL, like http://127.0.0.1:4318"))
        << bad;
  }
  EXPECT_THAT(traces_errors("sample: 1"),
              HasSubstr("traces.endpoint: missing; name the URL of the collector"));
}

TEST(ConfigTraces, Samples) {
  EXPECT_EQ(traces_of(kEndpoint + "sample: 0").sample, 0);
  EXPECT_EQ(traces_of(kEndpoint + "sample: 0.25").sample, 0.25);
  EXPECT_EQ(traces_of(kEndpoint + "sample: 1").sample, 1);
  EXPECT_THAT(traces_errors(kEndpoint + "sample: 1.01"),
              HasSubstr("traces.sample: expected a number from 0 to 1, found '1.01'"));
  EXPECT_NE(traces_errors(kEndpoint + "sample: -0.1"), "");
  EXPECT_NE(traces_errors(kEndpoint + "sample: nan"), "");
  EXPECT_NE(traces_errors(kEndpoint + "sample: all"), "");
}

TEST(ConfigTraces, Headers) {
  const config::TracesConfig traces =
      traces_of(kEndpoint + "headers: { X-Org: one, Authorization: { file: token } }, ca: c.pem");
  EXPECT_THAT(traces.headers,
              ElementsAre(Pair("Authorization", "Bearer hush"), Pair("X-Org", "one")));
  EXPECT_EQ(traces.certificates, "-----BEGIN");
  const std::pair<const char*, const char*> bad[] = {
      {"\"a b\": c", "not a name that a header field can have"},
      {"\"\": c", "not a name that a header field can have"},
      {"a: \"\"", "a: expected 1 to 4096 visible ASCII characters"},
      {"a: \"b\\r\\nc: d\"", "a: expected 1 to 4096 visible ASCII characters"},
      {"a: \" b\"", "a: expected 1 to 4096 visible ASCII characters"},
      {"Content-Type: text/plain", "Content-Type is set by stdgate itself; leave it out"},
      {"content-length: \"5\"", "content-length is set by stdgate itself; leave it out"},
      {"a: { file: missing }", "cannot read missing"},
      {"a: \"${principal}\"",
       "a: cannot name the principal, as spans of all clients are sent together"},
  };
  for (const auto& [headers, what] : bad) {
    EXPECT_THAT(traces_errors(kEndpoint + "headers: { " + headers + " }"), HasSubstr(what))
        << headers;
  }
  std::string many;
  for (int i = 0; i < 16; ++i) many += "a" + std::to_string(i) + ": b, ";
  EXPECT_EQ(traces_errors(kEndpoint + "headers: { " + many + " }"), "");
  EXPECT_THAT(traces_errors(kEndpoint + "headers: { " + many + "b: b }"), HasSubstr("at most 16"));
  EXPECT_EQ(traces_errors(kEndpoint + "headers: { a: " + std::string(4096, 'b') + " }"), "");
  EXPECT_NE(traces_errors(kEndpoint + "headers: { a: " + std::string(4097, 'b') + " }"), "");
}

TEST(ConfigTraces, ValuesOfHeadersAreNeverPrinted) {
  const std::string printed = config::print_config(*parse_traces(
      kEndpoint + "headers: { x-team: hush, X-Org: hush, Authorization: { file: token } }"));
  EXPECT_THAT(printed, AllOf(Not(HasSubstr("hush")), HasSubstr("x-team: \"***hidden***\""),
                             HasSubstr("Authorization: {file: \"token\"}")));
}

TEST(ConfigTraces, Bounds) {
  EXPECT_EQ(traces_of(kEndpoint + "queue: 64").queue, 64U);
  EXPECT_NE(traces_errors(kEndpoint + "queue: 63"), "");
  EXPECT_NE(traces_errors(kEndpoint + "queue: 65537"), "");
  EXPECT_EQ(traces_of(kEndpoint + "service_name: shop").service_name, "shop");
  EXPECT_EQ(traces_errors(kEndpoint + "service_name: " + std::string(255, 'a')), "");
  EXPECT_NE(traces_errors(kEndpoint + "service_name: " + std::string(256, 'a')), "");
  EXPECT_NE(traces_errors(kEndpoint + "service_name: \"\""), "");
}

}  // namespace
}  // namespace stdgate
