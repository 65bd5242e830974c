// Where values of a configuration stand, by their paths.
#include <gmock/gmock.h>

#include "gateway/config/config_parser.h"

namespace stdgate::config {
namespace {

std::string place_of(const std::string& path, const std::string& yaml) {
  std::vector<ConfigError> errors{{0, 0, path, "m"}};
  place_errors(yaml, errors);
  return std::to_string(errors[0].line) + ":" + std::to_string(errors[0].column);
}

TEST(ConfigPlace, IsThatOfTheValueOrOfWhatIsAroundIt) {
  const std::string yaml =
      "listen:\n"
      "  - address: \"127.0.0.1:0\"\n"
      "    tls: { certificate: [a.crt, b.crt] }\n"
      "auth:\n"
      "  mtls: { roles: { \"CN=a.b\": [x, y], CN=a: [z] } }\n"
      "backends:\n"
      "  a: { command: [cat], cwd: /x }\n"
      "  a.b: { command: [cat], cwd: /y }\n";
  const std::pair<const char*, const char*> cases[] = {{"listen[0].tls.certificate[1]", "3:33"},
                                                       {"listen[0].tls.key", "3:5"},
                                                       {"listen[7].tls", "1:1"},
                                                       {"auth.mtls.roles.CN=a.b[1]", "5:34"},
                                                       {"auth.mtls.roles.CN=a[0]", "5:45"},
                                                       {"backends.a.cwd", "7:29"},
                                                       {"backends.a.b.cwd", "8:31"},
                                                       {"backends.a.user", "7:3"},
                                                       {"backends[0]", "6:1"},
                                                       {"listen[x", "1:1"},
                                                       {"tls.key", "0:0"},
                                                       {"", "0:0"}};
  for (const auto& [path, place] : cases) EXPECT_EQ(place_of(path, yaml), place) << path;
}

TEST(ConfigPlace, IsLeftAsItIsWhereItIsKnownOrNothingCanBeRead) {
  std::vector<ConfigError> errors{{7, 3, "a", "m"}};
  place_errors("a: 1\n", errors);
  EXPECT_EQ(errors[0].to_string("f"), "f:7:3: a: m");
  EXPECT_EQ(place_of("a", "a: [1\n"), "0:0");
  EXPECT_EQ(place_of("a", ""), "0:0");
}

}  // namespace
}  // namespace stdgate::config
