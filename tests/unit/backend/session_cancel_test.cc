// Sessions: cancels of clients for their calls, and cancels of children for their requests.

#include "gateway/lsp/lsp_dialect.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/pool/dialect.h"
#include "tests/support/backend_fixture.h"

namespace stdgate::test {
namespace {

struct Row {
  config::Protocol protocol;
  config::Isolation isolation;
  [[nodiscard]] bool is_mcp() const { return protocol == config::Protocol::mcp; }
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << (row.is_mcp()                            ? "mcp"
                 : row.protocol == config::Protocol::lsp ? "lsp"
                                                         : "jsonrpc")
             << (row.isolation == config::Isolation::shared ? ", shared" : ", session");
}

std::unique_ptr<pool::Dialect> dialect(config::Protocol protocol) {
  if (protocol == config::Protocol::mcp) return std::make_unique<mcp::McpDialect>("1");
  if (protocol == config::Protocol::lsp) return std::make_unique<lsp::LspDialect>();
  return std::make_unique<pool::JsonRpcDialect>("$/cancelRequest");
}

// One session, and a child that works on one call at a time.
class SessionCancel : public testing::TestWithParam<Row> {
 protected:
  SessionCancel() : bench_(options(GetParam()), dialect(GetParam().protocol)) {
    bench_.open(session_);
  }

  static backend::BackendOptions options(const Row& row) {
    backend::BackendOptions options = plain_options();
    options.config.protocol = row.protocol;
    options.config.isolation = row.isolation;
    options.config.pool.max = 1;
    options.config.pool.max_in_flight = 1;
    return options;
  }

  FakeChild& start() {
    FakeChild& child = bench_.start_child();
    if (GetParam().is_mcp() && GetParam().isolation == config::Isolation::shared) {
      child.answer(child.take_ids().at(0), R"({"protocolVersion":"2025-06-18"})");
      child.take_line();
    }
    return child;
  }

  // The cancel as client and child write it.
  [[nodiscard]] std::string cancel(const std::string& id) const {
    return GetParam().is_mcp() ? note_text("notifications/cancelled", R"({"requestId":)" + id + "}")
                               : note_text("$/cancelRequest", R"({"id":)" + id + "}");
  }
  // The cancel of a call as the gateway writes it.
  [[nodiscard]] std::string cancel_of_call(const std::string& id) const {
    return GetParam().is_mcp()
               ? note_text("notifications/cancelled",
                           R"({"requestId":)" + id + R"(,"reason":"cancelled by the client"})")
               : cancel(id);
  }

  BackendBench bench_;
  FakeSession session_{bench_.callers};
};

INSTANTIATE_TEST_SUITE_P(All, SessionCancel,
                         testing::Values(Row{config::Protocol::jsonrpc, config::Isolation::shared},
                                         Row{config::Protocol::jsonrpc, config::Isolation::session},
                                         Row{config::Protocol::mcp, config::Isolation::shared},
                                         Row{config::Protocol::mcp, config::Isolation::session},
                                         Row{config::Protocol::lsp, config::Isolation::session}));

TEST_P(SessionCancel, OfACallOnTheChild) {
  bench_.call(session_, "\"c\"", 5);
  FakeChild& child = start();
  const std::string id = child.take_ids().at(0);
  EXPECT_EQ(bench_.send(session_, cancel("\"c\"")), backend::Admission::delivered);
  EXPECT_THAT(child.take_lines(), ElementsAre(cancel_of_call(id)));
  const backend::Admission again = bench_.send(session_, cancel("\"c\""));
  EXPECT_THAT(child.take_lines(), IsEmpty()) << "once is enough";
  if (GetParam().is_mcp()) {
    EXPECT_THAT(session_.cancelled, ElementsAre(5));
    EXPECT_EQ(bench_.observer.records.at(0).outcome, "cancelled");
    EXPECT_EQ(again, backend::Admission::dropped);
    EXPECT_EQ(bench_.backend.calls(), 0U);
    bench_.call(session_, "\"c\"");
    EXPECT_EQ(child.take_ids().size(), 1U) << "its place is free";
    child.answer(id);
    EXPECT_THAT(session_.take(), IsEmpty()) << "the late answer is not the new call's";
    EXPECT_EQ(bench_.observer.dropped[DropReason::unknown_id], 1);
  } else {
    EXPECT_EQ(again, backend::Admission::delivered);
    EXPECT_EQ(bench_.backend.calls(), 1U);
    child.say(error_text(id, -32800, "cancelled"));
    EXPECT_THAT(session_.take(), ElementsAre(error_text("\"c\"", -32800, "cancelled")));
    EXPECT_THAT(session_.cancelled, IsEmpty());
    EXPECT_EQ(bench_.observer.records.at(0).outcome, "error");
  }
}

TEST_P(SessionCancel, MakesRoomForWhatWaits) {
  bench_.call(session_, "1");
  bench_.call(session_, "2");
  FakeChild& child = start();
  child.take_lines();
  bench_.send(session_, cancel("1"));
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), GetParam().is_mcp() ? 2U : 1U);
  if (GetParam().is_mcp()) {
    child.answer(id_in(lines[1]));
    EXPECT_THAT(session_.take(), ElementsAre(result_text("2")));
  }
}

TEST_P(SessionCancel, OfACallThatWaits) {
  bench_.call(session_, "1", 1);
  bench_.call(session_, "2", 2);
  FakeChild& child = start();
  const std::string first = child.take_ids().at(0);
  EXPECT_EQ(bench_.send(session_, cancel("2")), backend::Admission::delivered);
  EXPECT_THAT(child.take_lines(), IsEmpty());
  child.answer(first);
  EXPECT_THAT(session_.take(), ElementsAre(result_text("1")));
  if (GetParam().is_mcp()) {
    EXPECT_THAT(session_.cancelled, ElementsAre(2));
    EXPECT_THAT(child.take_lines(), IsEmpty()) << "the child never hears of it";
    EXPECT_EQ(bench_.observer.records.at(0).outcome, "cancelled");
    EXPECT_FALSE(bench_.observer.records.at(0).reached_child);
  } else {
    const auto lines = child.take_lines();
    ASSERT_EQ(lines.size(), 2U);
    const std::string second = id_in(lines[0]);
    EXPECT_EQ(lines[0], request_text(second));
    EXPECT_EQ(lines[1], cancel_of_call(second));
    child.answer(second);
    EXPECT_THAT(session_.take(), ElementsAre(result_text("2")));
  }
}

TEST_P(SessionCancel, OfACallThatWaitsForTheStart) {
  bench_.call(session_, "1", 1);
  EXPECT_EQ(bench_.send(session_, cancel("1")), backend::Admission::delivered);
  FakeChild& child = start();
  EXPECT_EQ(child.take_lines().size(), GetParam().is_mcp() ? 0U : 2U);
  EXPECT_EQ(session_.cancelled.size(), GetParam().is_mcp() ? 1U : 0U);
  EXPECT_EQ(bench_.backend.calls(), GetParam().is_mcp() ? 0U : 1U);
}

TEST_P(SessionCancel, OfWhatIsNoCallOfItsOwn) {
  FakeSession other(bench_.callers);
  const bool is_other = !bench_.open(other).has_value();
  bench_.call(session_, "1");
  FakeChild& child = start();
  child.take_lines();
  for (const char* id : {"2", "\"1\"", "1.0", "null"}) {
    EXPECT_EQ(bench_.send(session_, cancel(id)), backend::Admission::dropped) << id;
  }
  if (is_other) {
    EXPECT_EQ(bench_.send(other, cancel("1")), backend::Admission::dropped);
  }
  FakeClient client(bench_.callers);
  EXPECT_EQ(bench_.send(client, cancel("1")), backend::Admission::dropped);
  EXPECT_EQ(bench_.observer.dropped[DropReason::unknown_cancel], is_other ? 6 : 5);
  EXPECT_THAT(child.take_lines(), IsEmpty());
  EXPECT_EQ(bench_.backend.calls(), 1U);
}

TEST_P(SessionCancel, TheDeadlineCancelsToo) {
  bench_.call(session_, "1");
  FakeChild& child = start();
  const std::string id = child.take_ids().at(0);
  bench_.advance(std::chrono::seconds(10));
  EXPECT_EQ(session_.take().size(), 1U);
  const auto lines = child.take_lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr(id));
  child.answer(id);
  EXPECT_THAT(session_.take(), IsEmpty());
}

// --- A child cancels its own request --------------------------------------------------------

TEST_P(SessionCancel, OfTheChildsRequest) {
  bench_.call(session_, "1");
  FakeChild& child = start();
  child.take_lines();
  child.say(request_text("\"q\"", "ask"));
  child.say(request_text("\"r\"", "ask"));
  const auto asked = session_.take();
  ASSERT_EQ(asked.size(), 2U);
  const std::string ask = id_in(asked[1]);
  child.say(cancel("\"r\""));
  EXPECT_THAT(session_.take(), ElementsAre(cancel(ask))) << "under the id that the client knows";
  EXPECT_EQ(bench_.observer.notifications[Direction::to_client], 1);
  EXPECT_EQ(bench_.send(session_, result_text(ask)),
            GetParam().is_mcp() ? backend::Admission::dropped : backend::Admission::delivered);
  EXPECT_EQ(child.take_lines().size(), GetParam().is_mcp() ? 0U : 1U);
  child.say(cancel("\"r\""));
  EXPECT_THAT(session_.take(), IsEmpty()) << "it is over";
  bench_.send(session_, result_text(id_in(asked[0])));
  EXPECT_THAT(child.take_lines(), ElementsAre(result_text("\"q\"")));
}

TEST_P(SessionCancel, OfNoRequestOfTheChild) {
  bench_.call(session_, "1");
  FakeChild& child = start();
  child.say(request_text("7", "ask"));
  const std::string ask = id_in(session_.take().at(0));
  for (const std::string& id : {std::string("8"), std::string("\"7\""), ask}) {
    child.say(cancel(id));
  }
  EXPECT_THAT(session_.take(), IsEmpty());
  EXPECT_EQ(bench_.observer.dropped[DropReason::no_listener], 3);
}

TEST(SessionCancelShared, OfEqualIdsOfTwoChildren) {
  backend::BackendOptions options = plain_options();
  options.config.pool.min = options.config.pool.max = 2;
  options.config.pool.max_in_flight = 1;
  BackendBench bench(options);
  FakeSession one(bench.callers);
  FakeSession two(bench.callers);
  bench.open(one);
  bench.open(two);
  bench.child(0).start();
  bench.child(1).start();
  bench.call(one);
  bench.call(two);
  bench.child(0).say(request_text("1", "ask"));
  bench.child(1).say(request_text("1", "ask"));
  one.take();
  const std::string ask = id_in(two.take().at(0));
  bench.child(1).say(note_text("$/cancelRequest", R"({"id":1})"));
  EXPECT_THAT(one.take(), IsEmpty());
  EXPECT_THAT(two.take(), ElementsAre(note_text("$/cancelRequest", "{\"id\":" + ask + "}")));
}

}  // namespace
}  // namespace stdgate::test
