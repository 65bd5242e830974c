// Sessions: the requests of children, and the ways of their answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/fake_child.h"
#include "tests/support/rpc_texts.h"

namespace stdgate {
namespace {

using test::BackendBench;
using test::error_text;
using test::FakeChild;
using test::FakeClient;
using test::FakeSession;
using test::id_in;
using test::note_text;
using test::request_text;
using test::result_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kNobody = -32601;
constexpr const char* kNobodyText = "no client here takes requests";

class OwnChild : public testing::Test {
 protected:
  FakeChild& first_of_two() {
    bench_.open(session_);
    bench_.open(other_);
    bench_.child(0).start();
    bench_.child(1).start();
    return bench_.child(0);
  }

  BackendBench bench_{test::session_options(4)};
  FakeSession session_{bench_.origins};
  FakeSession other_{bench_.origins};
  FakeChild& child_ = first_of_two();
};

TEST_F(OwnChild, IdsComeBackByteForByte) {
  const std::vector<std::string> all_forms = {
      "1",    R"("1")",        "1.0", "-7",     "12345678901234567890", "null", R"("")", "1e-2",
      "4096", R"("\u00e9\"")", "0",   R"("é")", R"("{\"id\":1}")"};
  for (const std::string& id : all_forms) {
    SCOPED_TRACE(id);
    child_.say(R"({"method":"ask","params":{"id":9}, "id" : )" + id + R"( ,"jsonrpc":"2.0"})");
    const auto asked = session_.take();
    ASSERT_EQ(asked.size(), 1U);
    const std::string ask = asked[0].substr(asked[0].find("\"id\" : ") + 7);
    const std::string number = ask.substr(0, ask.find(' '));
    EXPECT_EQ(asked[0],
              R"({"method":"ask","params":{"id":9}, "id" : )" + number + R"( ,"jsonrpc":"2.0"})");
    EXPECT_EQ(bench_.send(session_,
                          R"({ "result" : {"id":1.0}, "id": )" + number + R"(, "jsonrpc":"2.0"})"),
              Admission::delivered);
    EXPECT_THAT(child_.take_lines(),
                ElementsAre(R"({ "result" : {"id":1.0}, "id": )" + id + R"(, "jsonrpc":"2.0"})"));
  }
  EXPECT_THAT(other_.take(), IsEmpty());
  EXPECT_TRUE(bench_.observer.dropped.empty());
}

TEST_F(OwnChild, AnErrorIsAnAnswerToo) {
  child_.say(request_text("5", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  bench_.send(session_, error_text(ask, -1, "no"));
  EXPECT_THAT(child_.take_lines(), ElementsAre(error_text("5", -1, "no")));
}

TEST_F(OwnChild, EqualIdsOfSeveralAsks) {
  child_.say(request_text("1", "first"));
  child_.say(request_text("1", "second"));
  const auto asked = session_.take();
  ASSERT_EQ(asked.size(), 2U);
  ASSERT_NE(id_in(asked[0]), id_in(asked[1]));
  bench_.send(session_, result_text(id_in(asked[1]), "2"));
  bench_.send(session_, result_text(id_in(asked[0]), "1"));
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1", "2"), result_text("1", "1")));
}

TEST_F(OwnChild, AnswersThatAnswerNothing) {
  child_.say(request_text("1", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  const std::vector<std::string> strays = {
      "1", "0", "null", '"' + ask + '"', ask + ".0", "999999999999", "2147483647",
  };
  int dropped = 0;
  for (const std::string& id : strays) {
    SCOPED_TRACE(id);
    EXPECT_EQ(bench_.send(session_, result_text(id)), Admission::dropped);
    EXPECT_EQ(bench_.observer.dropped[DropReason::stray_response], ++dropped);
  }
  EXPECT_EQ(bench_.send(other_, result_text(ask)), Admission::dropped) << "another's ask";
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  EXPECT_EQ(bench_.send(session_, result_text(ask)), Admission::delivered);
  EXPECT_EQ(bench_.send(session_, result_text(ask)), Admission::dropped) << "a second time";
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1")));
  EXPECT_THAT(bench_.child(1).take_lines(), IsEmpty());
}

TEST_F(OwnChild, AClientWithoutASessionAnswersNothing) {
  FakeClient client(bench_.origins);
  child_.say(request_text("1", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  EXPECT_EQ(bench_.send(client, result_text(ask)), Admission::dropped);
  EXPECT_THAT(child_.take_lines(), IsEmpty());
}

TEST_F(OwnChild, SoManyAsksAndNoMore) {
  for (size_t i = 0; i < Session::kMostAsks; ++i) child_.say(request_text("1", "ask"));
  auto asked = session_.take();
  ASSERT_EQ(asked.size(), Session::kMostAsks);
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  child_.say(request_text("\"more\"", "ask"));
  EXPECT_THAT(session_.take(), IsEmpty());
  EXPECT_THAT(child_.take_lines(),
              ElementsAre(error_text("\"more\"", -32603, "the client answers too little")));
  bench_.child(1).say(request_text("1", "ask"));
  EXPECT_EQ(other_.take().size(), 1U) << "each session has its own limit";
  bench_.send(session_, result_text(id_in(asked.back())));
  child_.take_lines();
  child_.say(request_text("\"again\"", "ask"));
  EXPECT_EQ(session_.take().size(), 1U);
}

TEST_F(OwnChild, AnswersOvertakeWhatWaits) {
  child_.stop_reading();
  const std::string big(ChildLink::kHighWatermark, 'x');
  bench_.send(session_, note_text("big", "[\"" + big + "\"]"));
  bench_.call(session_);
  child_.say(request_text("1", "ask"));
  child_.take_lines();
  bench_.send(session_, result_text(id_in(session_.take().at(0))));
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1")));
}

TEST_F(OwnChild, AnswersToAChildThatHasGone) {
  child_.say(request_text("1", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  child_.die(9);
  EXPECT_EQ(bench_.send(session_, result_text(ask)), Admission::dropped);
  EXPECT_EQ(bench_.observer.dropped[DropReason::stray_response], 1);
}

TEST_F(OwnChild, NobodyIsAskedAfterTheClose) {
  bench_.close(session_);
  child_.take_lines();
  child_.say(request_text("1", "ask"));
  EXPECT_THAT(session_.take(), IsEmpty());
  EXPECT_THAT(other_.take(), IsEmpty());
  EXPECT_THAT(child_.take_lines(), ElementsAre(error_text("1", kNobody, kNobodyText)));
}

TEST(OwnMcpChild, APingIsForTheClientToAnswer) {
  BackendBench bench(test::session_options(2), std::make_unique<McpDialect>("1"));
  FakeSession session(bench.origins);
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.say(request_text("1", "ping"));
  ASSERT_EQ(session.received.size(), 1U);
  EXPECT_THAT(child.take_lines(), IsEmpty());
}

TEST(WarmChild, HasNobodyToAsk) {
  BackendOptions options = test::session_options(3);
  options.config.pool.warm = 1;
  BackendBench bench(options);
  bench.start_child().say(request_text("1", "ask"));
  EXPECT_THAT(bench.child(0).take_lines(), ElementsAre(error_text("1", kNobody, kNobodyText)));
}

// --- Shared children ------------------------------------------------------------------------

class SharedChild : public testing::Test {
 protected:
  SharedChild() {
    bench_.open(one_);
    bench_.open(two_);
    bench_.child(0).start();
    bench_.child(1).start();
  }

  static BackendOptions options() {
    BackendOptions options = test::plain_options();
    options.config.pool.min = options.config.pool.max = 2;
    return options;
  }
  void expect_nobody(const std::string& id = "1") {
    child_.take_lines();
    child_.say(request_text(id, "ask"));
    EXPECT_THAT(child_.take_lines(), ElementsAre(error_text(id, kNobody, kNobodyText)));
    EXPECT_THAT(one_.take(), IsEmpty());
    EXPECT_THAT(two_.take(), IsEmpty());
  }
  // Two calls of a kind; the second is on the second child.
  template <class Client>
  void call_on_each(Client& client) {
    bench_.call(client);
    bench_.call(client);
  }

  BackendBench bench_{options()};
  FakeSession one_{bench_.origins};
  FakeSession two_{bench_.origins};
  FakeClient client_{bench_.origins};
  FakeChild& child_ = bench_.child(0);
};

TEST_F(SharedChild, AsksTheSessionThatAllItsCallsAreOf) {
  call_on_each(one_);
  call_on_each(one_);
  child_.take_lines();
  child_.say(request_text("1", "ask"));
  const auto asked = one_.take();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(two_.take(), IsEmpty());
  bench_.send(one_, result_text(id_in(asked[0])));
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1")));
}

TEST_F(SharedChild, AsksNobodyWithoutACall) { expect_nobody(); }

TEST_F(SharedChild, AsksNobodyWhenTwoSessionsHaveCalls) {
  call_on_each(one_);
  call_on_each(two_);
  expect_nobody();
}

TEST_F(SharedChild, AsksNobodyWhenACallStandsAlone) {
  call_on_each(client_);
  expect_nobody("\"sole\"");
  call_on_each(one_);
  expect_nobody("\"first\"");
}

TEST_F(SharedChild, AsksNobodyWhenACallThatStandsAloneCameLater) {
  call_on_each(one_);
  call_on_each(client_);
  expect_nobody();
}

TEST_F(SharedChild, AsksTheOneThatIsLeft) {
  call_on_each(one_);
  call_on_each(two_);
  const auto ids = child_.take_ids();
  ASSERT_EQ(ids.size(), 2U);
  child_.answer(ids[0]);
  one_.take();
  child_.say(request_text("1", "ask"));
  EXPECT_THAT(one_.take(), IsEmpty());
  EXPECT_EQ(two_.take().size(), 1U);
}

TEST_F(SharedChild, EqualIdsOfSeveralChildrenFindBack) {
  call_on_each(one_);
  child_.take_lines();
  bench_.child(1).take_lines();
  child_.say(request_text("1", "ask"));
  bench_.child(1).say(request_text("1", "ask"));
  const auto asked = one_.take();
  ASSERT_EQ(asked.size(), 2U);
  bench_.send(one_, result_text(id_in(asked[1]), "\"second\""));
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  EXPECT_THAT(bench_.child(1).take_lines(), ElementsAre(result_text("1", "\"second\"")));
  bench_.send(one_, result_text(id_in(asked[0]), "\"first\""));
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1", "\"first\"")));
}

TEST_F(SharedChild, IsToldWhenTheSessionThatItHasAskedLeaves) {
  call_on_each(one_);
  child_.say(request_text("1", "ask"));
  bench_.child(1).say(request_text("\"2\"", "ask"));
  child_.say(request_text("3", "ask"));
  bench_.send(one_, result_text(id_in(one_.take().at(2))));
  child_.take_lines();
  bench_.child(1).take_lines();
  bench_.close(one_);
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 2U) << "what it asked, and the cancel of the call";
  EXPECT_EQ(lines[0], error_text("1", -32603, "the client has left"));
  EXPECT_THAT(lines[1], HasSubstr("$/cancelRequest"));
  EXPECT_EQ(bench_.child(1).take_line(), error_text("\"2\"", -32603, "the client has left"));
  // A new session in the same place does not answer for the old.
  FakeSession next(bench_.origins);
  bench_.open(next);
  EXPECT_EQ(bench_.send(next, result_text("4096")), Admission::dropped);
}

TEST_F(SharedChild, AsksOfOneThatHasGoneAreForgotten) {
  call_on_each(one_);
  for (size_t i = 0; i < Session::kMostAsks - 1; ++i) child_.say(request_text("1", "ask"));
  bench_.child(1).say(request_text("\"kept\"", "ask"));
  const auto asked = one_.take();
  ASSERT_EQ(asked.size(), Session::kMostAsks);
  child_.die(9);
  EXPECT_EQ(bench_.send(one_, result_text(id_in(asked[0]))), Admission::dropped);
  bench_.child(1).take_lines();
  one_.take();
  for (size_t i = 0; i < Session::kMostAsks - 1; ++i) {
    bench_.child(1).say(request_text("1", "ask"));
  }
  EXPECT_EQ(one_.take().size(), Session::kMostAsks - 1) << "they are no burden to the next";
  EXPECT_THAT(bench_.child(1).take_lines(), IsEmpty());
  bench_.send(one_, result_text(id_in(asked.back())));
  EXPECT_THAT(bench_.child(1).take_lines(), ElementsAre(result_text("\"kept\"")));
}

}  // namespace
}  // namespace stdgate
