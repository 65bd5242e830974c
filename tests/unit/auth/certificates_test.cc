// Certificates of clients: whose name counts, and which roles it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/policy/rules.h"
#include "tests/support/calendar.h"
#include "tests/support/manual_clock.h"
#include "transports/auth/authenticators.h"

namespace stdgate::auth {
namespace {

using testing::UnorderedElementsAre;

TEST(Certificates, NamesAndRoles) {
  const test::ManualClock clock;
  const test::Calendar calendar;
  const Clocks clocks{clock, calendar};
  config::MtlsConfig config;
  config.roles = {{"spiffe://c/ns/ci/*", {"ci"}}, {"*", {"all"}}, {"CN=build", {"ci", "all"}}};
  Certificates certificates(config, clocks);
  net::PeerCertificate shown;
  shown.expires = std::chrono::time_point_cast<std::chrono::system_clock::duration>(clocks.now()) +
                  std::chrono::hours(1);
  EXPECT_EQ(certificates.judge_certificate(shown)->outcome, Judgement::Outcome::unknown)
      << "no name at all";
  shown.common_name = "build";
  shown.subject = "CN=build,O=x";
  auto identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->kind, policy::Principal::Kind::certificate);
  EXPECT_EQ(identity.principal->name, "CN=build");
  EXPECT_EQ(identity.principal->subject, "CN=build,O=x");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("ci", "all"));
  EXPECT_LE(identity.expires, clock.now() + std::chrono::hours(1));
  EXPECT_GT(identity.expires, clock.now() + std::chrono::minutes(59));
  shown.dns = "build";
  identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->name, "build");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("all"));
  shown.uri = "spiffe://c/ns/ci/x";
  identity = certificates.judge_certificate(shown)->identity;
  EXPECT_EQ(identity.principal->name, "spiffe://c/ns/ci/x");
  EXPECT_THAT(identity.principal->roles, UnorderedElementsAre("ci", "all"));
}

TEST(Certificates, Patterns) {
  struct Case {
    std::string_view pattern;
    std::string_view text;
    bool fits;
  };
  const Case cases[] = {
      {"", "", true},
      {"", "a", false},
      {"a", "a", true},
      {"a", "A", false},
      {"*", "", true},
      {"*", "abc", true},
      {"a*", "a", true},
      {"a*", "ba", false},
      {"*c", "abc", true},
      {"*c", "abcd", false},
      {"a*c", "ac", true},
      {"a*c", "abcbc", true},
      {"a*b*c", "axxbyyc", true},
      {"a*b*c", "axxyyc", false},
      {"**", "", true},
      {"a.c", "abc", false},
      {"*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(policy::matches(c.pattern, c.text), c.fits) << c.pattern << c.text;
}

}  // namespace
}  // namespace stdgate::auth
