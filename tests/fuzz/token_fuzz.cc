// Fuzz target: no change of a good token leaves it good, for any algorithm and at any place.
//
// The first byte of the input chooses the token, and the next two a place in it. The fourth is the
// number of bytes to be replaced by the rest of the input.

#include <array>
#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/test_issuer.h"
#include "transports/auth/tokens.h"

namespace stdgate::test::token_fuzz {
namespace {

using Outcome = auth::Judgement::Outcome;

struct FixedWallClock final : WallClock {
  [[nodiscard]] WallTime at(TimePoint /*time*/) const override {
    return WallTime(std::chrono::seconds(1'700'000'000));
  }
};

// Making keys is slow, so all inputs share one world.
struct World {
  World() {
    constexpr std::string_view kClaims =
        R"({"iss":"https://id.example","aud":"here","sub":"ada","exp":1700000600})";
    const TestIssuer rsa(TestIssuer::Kind::rsa, "rsa");
    const TestIssuer curve(TestIssuer::Kind::p256, "p256");
    const TestIssuer edwards(TestIssuer::Kind::ed25519, "ed");
    tokens = {rsa.token("RS256", kClaims), rsa.token("PS256", kClaims),
              curve.token("ES256", kClaims), edwards.token("EdDSA", kClaims)};
    config::JwtConfig issuer;
    issuer.issuer = "https://id.example";
    issuer.audience = {"here"};
    issuer.jwks.file = "jwks.json";
    issuer.jwks.keys = R"({"keys":[)" + rsa.jwk() + "," + curve.jwk() + "," + edwards.jwk() + "]}";
    issuers.push_back(issuer);
  }
  std::array<std::string, 4> tokens;
  std::vector<config::JwtConfig> issuers;
  ManualClock clock;
  FixedWallClock wall;
  TimerQueue timers;
  FakeFetcher fetcher;  // unused: the keys are in a file
  RecordingLog log;
  Observer observer;
};

bool is_accepted(World& world, const std::string& token) {
  auth::Tokens judge(world.issuers, {world.clock, world.wall},
                     {world.fetcher, world.clock, world.timers, world.log, world.observer});
  const auto judgement = judge.judge({auth::Credential::Form::bearer, token});
  return judgement && judgement->outcome == Outcome::accepted;
}

void check(std::string_view input) {
  static World world;
  if (input.size() < 4) return;
  const auto byte = [&input](size_t at) { return static_cast<uint8_t>(input[at]); };
  const std::string& good = world.tokens[byte(0) % world.tokens.size()];
  std::string token = good;
  const size_t place = (size_t{byte(1)} * 256 + byte(2)) % (token.size() + 1);
  token.replace(place, byte(3) % 16, input.substr(4));
  require(is_accepted(world, token) == (token == good), "a changed token is no token", token);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::token_fuzz
