// SessionCensus: how many sessions each client has, and its share of the places.
#include "gateway/backend/session_census.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/base/text.h"

namespace stdgate {
namespace {

using backend::has_its_share;

policy::PrincipalRef named(const std::string& name) {
  auto principal = std::make_shared<policy::Principal>();
  principal->name = name;
  return principal;
}

config::BackendConfig with_children(config::Isolation isolation = config::Isolation::session) {
  config::BackendConfig config;
  config.isolation = isolation;
  return config;
}

// Sessions of several clients. 'a' is a live session of client a, 'A' a session of a that waits for
// a child, and '.' a parked session of a.
struct Sessions {
  explicit Sessions(const std::string& letters) {
    for (const char letter : letters) {
      session::Session& session = *all.find(all.open(session::SessionKind::client).value());
      const bool waits = letter >= 'A' && letter <= 'Z';
      session.principal = named(letter == '.' ? "a" : std::string(1, lower_ascii(letter)));
      session.state = letter == '.' ? SessionState::parked
                      : waits       ? SessionState::reviving
                                    : SessionState::live;
    }
  }
  [[nodiscard]] bool a_has_its_share(uint32_t places,
                                     const config::BackendConfig& config = with_children()) const {
    const policy::PrincipalRef a = named("a");
    return has_its_share(all, {a.get(), {}}, config, places);
  }
  session::SessionTable all{{100, 0, 0}};
};

TEST(SessionCensus, NobodyHasMoreThanHalfWhileOthersWait) {
  const struct {
    const char* sessions;
    uint32_t places;
    bool has_its_share;
  } cases[] = {
      {"", 4, false},         {"aaaa", 4, false},  // no other client waits
      {"aaaab", 4, false},                         // no client waits
      {"aaaaB", 4, true},                          // b waits
      {"aaB", 4, false},                           // there is room
      {"aaB.....", 4, false}, {"aabB", 4, true},   // two of four are half
      {"abbB", 4, false},                          // one of four is less than half
      {"aaabbB", 6, true},    {"aabbbB", 6, false}, {"aabB", 3, true},  // one of three is half
      {"bbB", 3, false},      {"aB", 1, true},                          // a holds the only place
      {"bB", 1, false},       {"aaaA", 4, false},                       // only a itself waits
  };
  for (const auto& item : cases) {
    EXPECT_EQ(Sessions(item.sessions).a_has_its_share(item.places), item.has_its_share)
        << item.sessions << " " << item.places;
  }
}

TEST(SessionCensus, ALimitOfItsOwnCounts) {
  config::BackendConfig config = with_children();
  config.calls_per_principal.sessions = 3;
  EXPECT_FALSE(Sessions("aaBB").a_has_its_share(4, config));
  EXPECT_TRUE(Sessions("aaa").a_has_its_share(100, config));
  EXPECT_FALSE(Sessions("aa..").a_has_its_share(100, config));
}

TEST(SessionCensus, OnlyWhereSessionsHaveChildrenAndClientsNames) {
  EXPECT_FALSE(Sessions("aaaaB").a_has_its_share(4, with_children(config::Isolation::shared)));
  const Sessions sessions("aaaaB");
  const policy::ClientRef anonymous{nullptr, *ClientAddress::parse("192.0.2.1")};
  EXPECT_FALSE(has_its_share(sessions.all, anonymous, with_children(), 4));
}

}  // namespace
}  // namespace stdgate
