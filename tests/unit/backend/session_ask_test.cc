// Sessions: the requests of children to clients, and the ways of the answers.

#include "gateway/mcp/mcp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

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

  BackendBench bench_{session_options(4)};
  FakeSession session_{bench_.callers};
  FakeSession other_{bench_.callers};
  FakeChild& child_ = first_of_two();
};

// The bytes that the child leaves unread are limited: 2 MiB, and one more answer.
TEST_F(OwnChild, AnswersThatTheChildDoesNotReadAreBounded) {
  constexpr size_t kSize = 300'000;
  constexpr size_t kMaxUnsent = 2 << 20;
  std::vector<std::string> asks;
  for (int i = 0; i < 40; ++i) {
    child_.say(request_text(std::to_string(i), "ask"));
    asks.push_back(id_in(session_.take().at(0)));
  }
  child_.stop_reading();
  const std::string answer = '"' + std::string(kSize, 'x') + '"';
  for (const std::string& ask : asks) {
    bench_.send(session_, R"({"jsonrpc":"2.0","id":)" + ask + R"(,"result":)" + answer + "}");
  }
  EXPECT_GT(child_.unsent(), kMaxUnsent);
  EXPECT_LT(child_.unsent(), kMaxUnsent + kSize + 1000);
  EXPECT_GT(bench_.observer.dropped[DropReason::outbox_full], 0);
  // Answers of the gateway itself have the same limit.
  for (int i = 0; i < 1000; ++i) {
    child_.say(R"({"jsonrpc":"2.0","method":"ask","id":")" + std::string(1000, 'i') + "\"}");
    session_.take();
  }
  EXPECT_LT(child_.unsent(), kMaxUnsent + kSize + 1000);
  // Notifications have the same limit. They wait within the limits of the queue.
  for (int i = 0; i < 300; ++i) {
    bench_.send(session_, R"({"jsonrpc":"2.0","method":"n","params":[)" + answer + "]}");
  }
  EXPECT_LT(child_.unsent(), kMaxUnsent + kSize + 1000);
  EXPECT_LE(bench_.status().queued_bytes, config::PoolConfig().queue_bytes);
}

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
              backend::Admission::delivered);
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

// A child that ignores case could read this answer as a request that no rule has checked.
TEST_F(OwnChild, AnAnswerThatResemblesARequestIsDropped) {
  child_.say(request_text("5", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  const auto answer = [&](const std::string& more) {
    return bench_.send(
        session_, R"({"jsonrpc":"2.0","id":)" + ask + R"(,"result":{"Method":1})" + more + "}");
  };
  for (const std::string more : {R"(,"Method":"tools/call","params":{})", R"(,"\u004dethod":"x")",
                                 R"(,"METHOD":null)", R"(,"Id":7)", R"(,"Params":{})",
                                 R"(,"Result":{})", R"(,"Error":{})", R"(,"JSONRPC":"2.0")"}) {
    EXPECT_EQ(answer(more), backend::Admission::dropped) << more;
  }
  EXPECT_EQ(bench_.observer.dropped[DropReason::stray_response], 8);
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  EXPECT_EQ(answer(R"(,"params":{})"), backend::Admission::delivered);
  EXPECT_THAT(child_.take_lines(),
              ElementsAre(R"({"jsonrpc":"2.0","id":5,"result":{"Method":1},"params":{}})"));
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
      "2", "0", "null", '"' + ask + '"', ask + ".0", "999999999999", "2147483647",
  };
  int dropped = 0;
  for (const std::string& id : strays) {
    SCOPED_TRACE(id);
    EXPECT_EQ(bench_.send(session_, result_text(id)), backend::Admission::dropped);
    EXPECT_EQ(bench_.observer.dropped[DropReason::stray_response], ++dropped);
  }
  EXPECT_EQ(bench_.send(other_, result_text(ask)), backend::Admission::dropped) << "another's ask";
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  EXPECT_EQ(bench_.send(session_, result_text(ask)), backend::Admission::delivered);
  EXPECT_EQ(bench_.send(session_, result_text(ask)), backend::Admission::dropped)
      << "a second time";
  EXPECT_THAT(child_.take_lines(), ElementsAre(result_text("1")));
  EXPECT_THAT(bench_.child(1).take_lines(), IsEmpty());
}

TEST_F(OwnChild, AClientWithoutASessionAnswersNothing) {
  FakeClient client(bench_.callers);
  child_.say(request_text("1", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  EXPECT_EQ(bench_.send(client, result_text(ask)), backend::Admission::dropped);
  EXPECT_THAT(child_.take_lines(), IsEmpty());
}

TEST_F(OwnChild, SoManyAsksAndNoMore) {
  for (size_t i = 0; i < session::Session::kMaxAsks; ++i) child_.say(request_text("1", "ask"));
  auto asked = session_.take();
  ASSERT_EQ(asked.size(), session::Session::kMaxAsks);
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  child_.say(request_text("\"more\"", "ask"));
  EXPECT_THAT(session_.take(), IsEmpty());
  EXPECT_THAT(
      child_.take_lines(),
      ElementsAre(error_text("\"more\"", -32603, "the client has too many unanswered requests")));
  bench_.child(1).say(request_text("1", "ask"));
  EXPECT_EQ(other_.take().size(), 1U) << "each session has its own limit";
  bench_.send(session_, result_text(id_in(asked.back())));
  child_.take_lines();
  child_.say(request_text("\"again\"", "ask"));
  EXPECT_EQ(session_.take().size(), 1U);
}

TEST_F(OwnChild, AnswersOvertakeWhatWaits) {
  child_.stop_reading();
  const std::string big(pool::ChildLink::kHighWatermark, 'x');
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
  EXPECT_EQ(bench_.send(session_, result_text(ask)), backend::Admission::dropped);
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
  BackendBench bench(session_options(2), std::make_unique<mcp::McpDialect>("1"));
  FakeSession session(bench.callers);
  session.held = session::ClientHold::nothing;  // the session gets its child at once
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.say(request_text("1", "ping"));
  ASSERT_EQ(session.received.size(), 1U);
  EXPECT_THAT(child.take_lines(), IsEmpty());
}

TEST(WarmChild, HasNobodyToAsk) {
  backend::BackendOptions options = session_options(3);
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

  static backend::BackendOptions options() {
    backend::BackendOptions options = plain_options();
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
  // Sends two calls; the second call reaches the second child.
  template <class Client>
  void call_on_each(Client& client) {
    bench_.call(client);
    bench_.call(client);
  }

  BackendBench bench_{options()};
  FakeSession one_{bench_.callers};
  FakeSession two_{bench_.callers};
  FakeClient client_{bench_.callers};
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
  // A new session in the same place does not answer for the former session.
  FakeSession next(bench_.callers);
  bench_.open(next);
  EXPECT_EQ(bench_.send(next, result_text("4096")), backend::Admission::dropped);
}

TEST_F(SharedChild, AsksOfOneThatHasGoneAreForgotten) {
  call_on_each(one_);
  for (size_t i = 0; i < session::Session::kMaxAsks - 1; ++i) child_.say(request_text("1", "ask"));
  bench_.child(1).say(request_text("\"kept\"", "ask"));
  const auto asked = one_.take();
  ASSERT_EQ(asked.size(), session::Session::kMaxAsks);
  child_.die(9);
  EXPECT_EQ(bench_.send(one_, result_text(id_in(asked[0]))), backend::Admission::dropped);
  bench_.child(1).take_lines();
  one_.take();
  for (size_t i = 0; i < session::Session::kMaxAsks - 1; ++i) {
    bench_.child(1).say(request_text("1", "ask"));
  }
  EXPECT_EQ(one_.take().size(), session::Session::kMaxAsks - 1) << "they are no burden to the next";
  EXPECT_THAT(bench_.child(1).take_lines(), IsEmpty());
  bench_.send(one_, result_text(id_in(asked.back())));
  EXPECT_THAT(bench_.child(1).take_lines(), ElementsAre(result_text("\"kept\"")));
}

}  // namespace
}  // namespace stdgate::test
