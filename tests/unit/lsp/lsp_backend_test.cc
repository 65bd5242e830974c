// A backend of language servers: each client has a server of its own, until the client leaves.

#include "gateway/lsp/lsp_dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

constexpr std::string_view kExit = R"({"jsonrpc":"2.0","method":"exit"})";

class LspBackend : public testing::Test {
 protected:
  static backend::BackendOptions options() {
    backend::BackendOptions options = session_options(2);
    options.config.protocol = config::Protocol::lsp;
    options.config.pool.grace = seconds(3);
    options.config.pool.max_in_flight = 2;
    return options;
  }

  FakeChild& open() {
    bench_.open(session_);
    return bench_.start_child();
  }

  // Closes the session. Returns the id of the shutdown request that the child receives.
  std::string close(FakeChild& child) {
    bench_.close(session_);
    const std::string line = child.take_line();
    EXPECT_EQ(line, request_text(id_in(line), "shutdown"));
    EXPECT_THAT(child.take_lines(), IsEmpty());
    EXPECT_THAT(child.ends(), IsEmpty()) << "its stdin stays open";
    return id_in(line);
  }

  BackendBench bench_{options(), std::make_unique<lsp::LspDialect>()};
  FakeSession session_{bench_.callers};
  FakeChild& child_ = open();
};

TEST_F(LspBackend, TheClientsProcessIsTheGateways) {
  bench_.send(session_, R"({"method":"initialize","params":{"processId" : 12 ,"a":1.0},"id":"i",)"
                        R"("jsonrpc":"2.0"})");
  const std::string line = child_.take_line();
  const std::string id =
      line.substr(line.find("\"id\":") + 5, line.find(",\"jsonrpc") - line.find("\"id\":") - 5);
  EXPECT_EQ(line, R"({"method":"initialize","params":{"processId" : null ,"a":1.0},"id":)" + id +
                      R"(,"jsonrpc":"2.0"})");
  child_.answer(id, "{}");
  EXPECT_THAT(session_.take(), ElementsAre(result_text("\"i\"", "{}")));
}

TEST_F(LspBackend, AlsoWhenItHasToWait) {
  FakeSession other(bench_.callers);
  bench_.open(other);
  const std::string text =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":123456}})";
  bench_.send(other, text);
  FakeChild& child = bench_.start_child();
  const std::string line = child.take_line();
  EXPECT_EQ(line, R"({"jsonrpc":"2.0","id":)" + id_in(line) +
                      R"(,"method":"initialize","params":{"processId":null}})");
}

TEST_F(LspBackend, TakesNoCallsWithoutASession) {
  FakeClient client(bench_.callers);
  bench_.call(client);
  ASSERT_EQ(client.answers.size(), 1U);
  EXPECT_EQ(client.answers[0].fault, rpc::Fault::overloaded);
  EXPECT_EQ(bench_.launcher.launched(), 1U);
}

// --- Farewell -------------------------------------------------------------------------------

TEST_F(LspBackend, IsAskedToShutDownThenToExit) {
  bench_.call(session_, "1");
  bench_.call(session_, "2");
  bench_.call(session_, "3");
  child_.take_lines();
  const std::string id = close(child_);
  EXPECT_EQ(bench_.observer.records.size(), 3U);
  EXPECT_EQ(bench_.backend.calls(), 1U) << "the farewell, for a drain to wait for";
  child_.say(note_text("window/logMessage"));
  child_.answer("1");
  child_.answer(id, "null");
  EXPECT_THAT(child_.take_lines(), ElementsAre(kExit));
  EXPECT_THAT(child_.ends(), ElementsAre(seconds(1)));
  bench_.advance(seconds(10));
  EXPECT_THAT(child_.take_lines(), IsEmpty());
  EXPECT_EQ(child_.ends().size(), 1U);
  child_.exit(0);
  EXPECT_EQ(bench_.observer.exits, std::vector{ExitReason::asked});
  EXPECT_EQ(bench_.observer.records.size(), 3U) << "the farewell is nobody's call";
  EXPECT_THAT(session_.take(), IsEmpty());
  EXPECT_FALSE(session_.end.has_value());
}

TEST_F(LspBackend, AnErrorIsAnAnswerToTheFarewell) {
  const std::string id = close(child_);
  child_.say(error_text(id, -32600, "shut down already"));
  EXPECT_THAT(child_.take_lines(), ElementsAre(kExit));
  EXPECT_THAT(child_.ends(), ElementsAre(seconds(1)));
}

TEST_F(LspBackend, AnUnansweredFarewellIsGivenUpAfterAThirdOfGrace) {
  const std::string id = close(child_);
  bench_.advance(seconds(1) - Duration{1});
  EXPECT_THAT(child_.ends(), IsEmpty());
  bench_.advance(Duration{1});
  EXPECT_THAT(child_.take_lines(), ElementsAre(kExit));
  EXPECT_THAT(child_.ends(), ElementsAre(seconds(1)));
  child_.answer(id);
  EXPECT_THAT(child_.take_lines(), IsEmpty()) << "exit is said once";
  EXPECT_EQ(child_.ends().size(), 1U);
}

TEST_F(LspBackend, AFarewellWithoutSenseEndsItAtOnce) {
  const std::string id = close(child_);
  child_.say(R"({"jsonrpc":"2.0","id":)" + id + "}");
  ASSERT_FALSE(child_.ends().empty());
  EXPECT_EQ(child_.ends().front(), seconds(0));
  child_.die(9);
  EXPECT_EQ(bench_.observer.exits, std::vector{ExitReason::asked});
  EXPECT_EQ(bench_.status().failures, 0U);
}

TEST_F(LspBackend, OneThatHasGoneMeanwhileIsLeftAlone) {
  close(child_);
  child_.exit(0);
  bench_.advance(seconds(10));
  EXPECT_THAT(child_.ends(), IsEmpty());
  EXPECT_EQ(bench_.observer.exits, std::vector{ExitReason::asked});
}

TEST_F(LspBackend, ItsRequestsMeanwhileAreRefused) {
  close(child_);
  child_.say(request_text("5", "workspace/configuration"));
  EXPECT_THAT(child_.take_lines(),
              ElementsAre(error_text("5", -32601, "no client here takes requests")));
}

TEST_F(LspBackend, WhatItHasAskedIsRefusedFirst) {
  child_.say(request_text("\"q\"", "workspace/configuration"));
  bench_.close(session_);
  const auto lines = child_.take_lines();
  ASSERT_EQ(lines.size(), 2U) << "a server that waits for an answer would not hear the farewell";
  EXPECT_EQ(lines[0], error_text("\"q\"", -32603, "the client has left"));
  EXPECT_EQ(lines[1], request_text(id_in(lines[1]), "shutdown"));
}

TEST_F(LspBackend, OneThatStartsIsNotAsked) {
  FakeSession other(bench_.callers);
  bench_.open(other);
  bench_.close(other);
  EXPECT_THAT(bench_.child(1).ends(), ElementsAre(Duration(seconds(3)) / 2));
  bench_.child(1).start();
  EXPECT_THAT(bench_.child(1).take_lines(), IsEmpty());
}

TEST_F(LspBackend, AHeldOneIsReadAgain) {
  bench_.backend.hold_child(session_.id, true);
  close(child_);
  EXPECT_TRUE(child_.is_read()) << "its answer is waited for";
}

TEST_F(LspBackend, ShutdownOfTheGatewayDoesNotWaitForIt) {
  close(child_);
  bench_.backend.end_children(seconds(2));
  EXPECT_THAT(child_.ends(), ElementsAre(seconds(2)));
  child_.exit(0);
  EXPECT_FALSE(bench_.backend.has_children());
}

TEST_F(LspBackend, AClientThatHasSaidAllItselfEndsItsSession) {
  bench_.call(session_, "1");
  child_.answer(child_.take_ids().at(0));
  bench_.send(session_, request_text("2", "shutdown"));
  child_.answer(child_.take_ids().at(0), "null");
  bench_.send(session_, std::string(kExit));
  EXPECT_THAT(child_.take_lines(), ElementsAre(kExit));
  child_.exit(0);
  EXPECT_EQ(session_.end, session::SessionEnd::finished);
  EXPECT_EQ(bench_.status().failures, 0U);
  bench_.close(session_);
  EXPECT_EQ(bench_.launcher.launched(), 1U);
}

TEST_F(LspBackend, AClientThatHasSaidShutdownAndLeaves) {
  bench_.send(session_, request_text("2", "shutdown"));
  child_.answer(child_.take_ids().at(0), "null");
  const std::string id = close(child_);
  child_.say(error_text(id, -32600, "invalid request"));
  EXPECT_THAT(child_.take_lines(), ElementsAre(kExit));
}

TEST_F(LspBackend, AnOrderlyExitIsNoTrouble) {
  bench_.send(session_, request_text("1", "shutdown"));
  child_.answer(child_.take_ids().at(0), "null");
  bench_.send(session_, std::string(kExit));
  child_.exit(0);
  ASSERT_NE(bench_.log.find("child ended"), nullptr);
  EXPECT_FALSE(bench_.log.has_trouble());
}

TEST_F(LspBackend, AnExitInTheMiddleOfACallIs) {
  bench_.send(session_, request_text("1", "textDocument/hover"));
  child_.exit(0);
  EXPECT_TRUE(bench_.log.has_trouble());
}

// A server of another protocol, or a server with the wrong framing.
TEST(LspFraming, AServerThatWritesLinesIsWarnedOfAtOnce) {
  backend::BackendOptions options = session_options(1);
  options.config.protocol = config::Protocol::lsp;
  options.config.framing = rpc::Framing::content_length;
  BackendBench bench(options, std::make_unique<lsp::LspDialect>());
  FakeSession session(bench.callers);
  bench.open(session);
  FakeChild& child = bench.start_child();
  child.say(R"({"jsonrpc":"2.0","method":"notifications/message"})");
  ASSERT_NE(bench.log.find("child output does not fit"), nullptr);
  EXPECT_NE(bench.log.find("child output does not fit")->find("framing: newline"),
            std::string::npos);
  EXPECT_TRUE(bench.log.has_trouble());
}

TEST(LspFraming, AServerThatWritesHeadersIsWarnedOfAtOnceAndOnce) {
  for (const std::string head : {"Content-Length: 2", "content-length: 2"}) {
    BackendBench bench(session_options(1));
    FakeSession session(bench.callers);
    bench.open(session);
    FakeChild& child = bench.start_child();
    for (int i = 0; i < 3; ++i) child.output(head + "\r\n\r\n{}");
    const auto& lines = bench.log.lines;
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const std::string& line) {
                              return line.starts_with("child output does not fit") &&
                                     line.find("framing: content-length") != std::string::npos &&
                                     line.find("--protocol lsp") != std::string::npos;
                            }),
              1);
  }
}

}  // namespace
}  // namespace stdgate::test
