// A pool for each principal: which pool gets a message, and what happens to idle pools.
#include "gateway/backend/principal_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/fake_client.h"
#include "tests/support/fake_session.h"
#include "tests/support/fake_upstream.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_log.h"
#include "tests/support/rpc_texts.h"

namespace stdgate::test {
namespace {

using policy::Principal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

policy::PrincipalRef token_of(const std::string& name, const std::string& issuer = "https://id") {
  return std::make_shared<Principal>(
      Principal{Principal::Kind::token, name, issuer, name, {}, {}, {}});
}

policy::PrincipalRef key_of(const std::string& name) {
  return std::make_shared<Principal>(Principal{Principal::Kind::api_key, name, {}, {}, {}, {}, {}});
}

class PrincipalPoolsTest : public testing::Test {
 protected:
  static constexpr Duration kIdle = std::chrono::minutes(1);

  backend::Admission send(const policy::PrincipalRef& principal, const std::string& text,
                          session::SessionId session = {}) {
    return send(pools_, principal, text, session);
  }
  backend::Admission send(backend::Upstream& to, const policy::PrincipalRef& principal,
                          const std::string& text, session::SessionId session = {}) {
    const ParsedText parsed(text);
    call::CallContext context;
    context.caller = client_.caller();
    context.session = session;
    context.principal = principal.get();
    rpc::ParsedMessage message;
    message.envelope = parsed.envelope;
    return to.accept(message, context);
  }
  void pass(Duration time) {
    for (Duration at{0}; at < time; at += backend::PrincipalPools::kSweep) {
      clock_.set(clock_.now() + backend::PrincipalPools::kSweep);
      timers_.run_due(clock_.now());
    }
    pools_.check_invariants();
  }
  static backend::UpstreamFacts facts() {
    backend::UpstreamFacts facts;
    facts.name = "tools";
    facts.idle_timeout = kIdle;
    facts.max_sessions = 10;
    return facts;
  }
  std::unique_ptr<FakeUpstream> upstream() {
    return std::make_unique<FakeUpstream>(facts(), callers_);
  }

  ManualClock clock_;
  TimerQueue timers_;
  RecordingLog log_;
  Observer observer_;
  session::Callers callers_{100};
  FakeClient client_{callers_};
  std::map<std::string, FakeUpstream*> made_;  // last pool, by the principal's name and source
  std::string refusal_;                        // why no pool can be made
  backend::PrincipalPools pools_{
      facts(),
      2,
      upstream(),
      [this](const Principal& principal)
          -> tl::expected<std::unique_ptr<backend::Upstream>, std::string> {
        if (!refusal_.empty()) return tl::unexpected(refusal_);
        auto made = upstream();
        made_[principal.name + "@" + policy::source_of(principal)] = made.get();
        return made;
      },
      {clock_, timers_, log_, observer_}};
};

TEST_F(PrincipalPoolsTest, EachPrincipalHasItsOwn) {
  EXPECT_TRUE(pools_.status().ready);
  send(token_of("ada"), note_text("a"));
  send(token_of("bob"), note_text("b"));
  send(token_of("ada"), note_text("c"));
  EXPECT_THAT(made_.at("ada@id")->notifications, ElementsAre("a", "c"));
  EXPECT_THAT(made_.at("bob@id")->notifications, ElementsAre("b"));
  EXPECT_EQ(pools_.pools(), 2u);
}

// Kind, issuer and name together make a principal.
TEST_F(PrincipalPoolsTest, OneNameIsNotOnePrincipal) {
  send(token_of("ada"), note_text("of a token"));
  send(key_of("ada"), note_text("of a key"));
  EXPECT_THAT(made_.at("ada@id")->notifications, ElementsAre("of a token"));
  EXPECT_THAT(made_.at("ada@api_key")->notifications, ElementsAre("of a key"));
  pass(kIdle + std::chrono::seconds(2));
  ASSERT_EQ(pools_.pools(), 0u);
  // Two principals differ even if their names and issuers, joined together, give the same text.
  send(token_of("dada", "https://id/a"), note_text("x"));
  send(token_of("ada", "https://id/ad"), note_text("y"));
  EXPECT_EQ(pools_.pools(), 2u);
}

TEST_F(PrincipalPoolsTest, NobodyHasNone) {
  EXPECT_EQ(send(nullptr, request_text("1")), backend::Admission::answered_by_reply);
  EXPECT_THAT(client_.texts(), ElementsAre(HasSubstr("-32002")));
  EXPECT_EQ(send(nullptr, note_text("a")), backend::Admission::refused_overloaded);
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(PrincipalPoolsTest, OneMoreHasToWait) {
  send(token_of("ada"), request_text("1", "hold"));
  send(token_of("bob"), request_text("2", "hold"));
  send(token_of("eve"), request_text("3", "echo"));
  EXPECT_THAT(client_.texts(), ElementsAre(HasSubstr("pool.principals")));
  EXPECT_EQ(client_.answers.back().fault, rpc::Fault::overloaded);
  EXPECT_EQ(pools_.calls(), 2u);
  made_.at("bob@id")->release();
  send(token_of("eve"), request_text("4", "echo"));
  EXPECT_THAT(client_.texts().back(), HasSubstr(R"("id":4,"result")"));
  EXPECT_FALSE(made_.at("ada@id")->draining) << "it is at work";
  EXPECT_EQ(pools_.pools(), 2u);
}

TEST_F(PrincipalPoolsTest, TheOneThatIdlesLongestGivesWay) {
  send(token_of("ada"), note_text("a"));
  pass(std::chrono::seconds(1));
  send(token_of("bob"), note_text("b"));
  pass(std::chrono::seconds(1));
  send(token_of("eve"), note_text("e"));
  EXPECT_TRUE(made_.at("ada@id")->draining);
  EXPECT_FALSE(made_.at("bob@id")->draining);
}

TEST_F(PrincipalPoolsTest, IdleOnesEnd) {
  FakeSession sink(callers_);
  send(token_of("ada"), request_text("1", "hold"));
  const auto session = pools_.open_session(sink.caller(), sink, {{}, token_of("bob")});
  ASSERT_TRUE(session.has_value());
  pass(2 * kIdle);
  EXPECT_EQ(pools_.pools(), 2u) << "a call and a session keep them";
  made_.at("ada@id")->release();
  made_.at("ada@id")->parked_calls = 1;
  pass(2 * kIdle);
  EXPECT_EQ(pools_.pools(), 2u) << "so does a call that waits for its client";
  made_.at("ada@id")->parked_calls = 0;
  pools_.close_session(*session, "");
  pass(kIdle - std::chrono::seconds(2));
  EXPECT_EQ(pools_.pools(), 2u);
  pass(std::chrono::seconds(4));
  EXPECT_EQ(pools_.pools(), 0u);
  EXPECT_FALSE(timers_.next_due().has_value()) << "nothing to look after";
}

// Both pools give the same ids to their sessions. The virtual server has one caller for calls of
// all principals.
TEST_F(PrincipalPoolsTest, AVirtualServerCancelsInWhicheverPool) {
  send(token_of("ada"), request_text("7", "hold"));
  send(token_of("bob"), request_text("8", "hold"));
  const auto cancel = [&](const std::string& id, bool is_of_server) {
    const ParsedText note(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)"
                          R"({"requestId":)" +
                          id + "}}");
    call::CallContext context;
    context.caller = client_.caller();
    context.is_of_server = is_of_server;
    rpc::ParsedMessage message;
    message.envelope = note.envelope;
    return pools_.take_cancel(message, context);
  };
  EXPECT_FALSE(cancel("8", false));
  EXPECT_TRUE(cancel("8", true));
  EXPECT_EQ(made_.at("ada@id")->calls(), 1U);
  EXPECT_EQ(made_.at("bob@id")->calls(), 0U);
  EXPECT_FALSE(cancel("9", true));
}

TEST_F(PrincipalPoolsTest, SessionsAreOfTheirPool) {
  FakeSession of_ada(callers_);
  FakeSession of_bob(callers_);
  const auto ada = pools_.open_session(of_ada.caller(), of_ada, {{}, token_of("ada")});
  const auto bob = pools_.open_session(of_bob.caller(), of_bob, {{}, token_of("bob")});
  ASSERT_TRUE(ada && bob);
  EXPECT_NE(*ada, *bob);
  send(token_of("ada"), note_text("a"), *ada);
  send(token_of("bob"), note_text("b"), *bob);
  EXPECT_THAT(made_.at("ada@id")->notifications, ElementsAre("a"));
  EXPECT_THAT(made_.at("bob@id")->notifications, ElementsAre("b"));
  send(token_of("bob"), request_text("1", "hello"), *bob);
  EXPECT_THAT(of_bob.take(), ElementsAre(HasSubstr("hello")));
  EXPECT_THAT(of_ada.take(), IsEmpty());
  pools_.close_session(*ada, "");
  pools_.close_session(*ada, "");
  send(token_of("ada"), request_text("2", "echo"), *ada);
  EXPECT_THAT(client_.texts().back(), HasSubstr("the session is over"));
  const size_t answers = client_.answers.size();
  EXPECT_EQ(send(token_of("ada"), note_text("late"), *ada), backend::Admission::dropped);
  EXPECT_EQ(send(token_of("ada"), result_text("3"), *ada), backend::Admission::dropped);
  EXPECT_EQ(client_.answers.size(), answers) << "only requests are answered";
  EXPECT_EQ(made_.at("ada@id")->sessions(), 0u);
  EXPECT_EQ(made_.at("bob@id")->sessions(), 1u);
}

TEST_F(PrincipalPoolsTest, WithoutItsCredentialsThereIsNoPool) {
  refusal_ = "TOKEN: cannot read /run/secrets/ada";
  send(token_of("ada"), request_text("1"));
  EXPECT_EQ(client_.answers.back().fault, rpc::Fault::child_failed);
  EXPECT_THAT(client_.texts().back(), testing::Not(HasSubstr("/run/secrets")));
  ASSERT_NE(log_.find("no children for this principal"), nullptr);
  EXPECT_THAT(*log_.find("no children"), HasSubstr("principal=ada"));
  FakeSession sink(callers_);
  EXPECT_FALSE(pools_.open_session(sink.caller(), sink, {{}, token_of("ada")}));
  refusal_.clear();  // the operator has added the credentials
  send(token_of("ada"), request_text("2", "echo"));
  EXPECT_THAT(client_.texts().back(), HasSubstr("result"));
}

TEST_F(PrincipalPoolsTest, AllOfThemEnd) {
  send(token_of("ada"), request_text("1", "hold"));
  pools_.drain();
  EXPECT_TRUE(made_.at("ada@id")->draining);
  send(token_of("bob"), request_text("2"));
  EXPECT_THAT(client_.texts(), ElementsAre(HasSubstr("shutting down")));
  pools_.fail_calls(rpc::faults::shutting_down());
  EXPECT_EQ(pools_.calls(), 0u);
  EXPECT_FALSE(pools_.has_children());
}

}  // namespace
}  // namespace stdgate::test
