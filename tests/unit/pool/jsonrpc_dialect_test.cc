// JsonRpcDialect: it adds only a method for cancels.

#include <gtest/gtest.h>

#include <vector>

#include "gateway/pool/dialect.h"

namespace stdgate {
namespace {

using Kind = call::ClientIntent::Kind;

struct Read {
  Kind kind = Kind::forward;
  std::string cancelled_id{};
  bool refused = false;
};

Read read(const pool::Dialect& dialect, std::string text) {
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const rpc::Envelope envelope = parser.parse(text).value().messages[0].envelope;
  std::string scratch;
  const auto intent = dialect.read_client(envelope, rpc::decode_string(envelope.method, scratch),
                                          {config::Isolation::shared});
  if (!intent) return {Kind::forward, {}, true};
  EXPECT_TRUE(intent->progress_token.empty());
  return {intent->kind, std::string(intent->cancelled_id), false};
}

TEST(JsonRpcDialect, ReadsCancels) {
  struct Case {
    std::string text;
    Read expected;
  };
  const std::string head = R"({"jsonrpc":"2.0","method":)";
  const std::vector<Case> cases = {
      {head + R"("$/cancelRequest","params":{"id":7}})", {Kind::cancel, "7"}},
      {head + R"("$/cancelRequest","params":{"id":"a\u00e9"}})", {Kind::cancel, R"("a\u00e9")"}},
      {head + R"("$/cancelRequest","params":{"\u0069d" : 1.0 }})", {Kind::cancel, "1.0"}},
      {head + R"("$\/cancelRequest","params":{"id":null}})", {Kind::cancel, "null"}},
      {head + R"("$/cancelRequest","params":{"id":1,"i\u0064":2}})", {Kind::forward, "", true}},
      {head + R"("$/cancelRequest"})", {Kind::cancel, ""}},
      {head + R"("$/cancelRequest","params":[1]})", {Kind::cancel, ""}},
      {head + R"("$/cancelRequest","params":{"a":{"id":1}}})", {Kind::cancel, ""}},
      {head + R"("$/cancelRequest","id":1,"params":{"id":7}})", {Kind::forward, ""}},
      {head + R"("cancel","params":{"id":7}})", {Kind::forward, ""}},
      {head + R"("m","params":{"_meta":{"progressToken":7}}})", {Kind::forward, ""}},
  };
  const pool::JsonRpcDialect dialect("$/cancelRequest");
  for (const Case& c : cases) {
    const Read got = read(dialect, c.text);
    EXPECT_EQ(got.kind, c.expected.kind) << c.text;
    EXPECT_EQ(got.cancelled_id, c.expected.cancelled_id) << c.text;
    EXPECT_EQ(got.refused, c.expected.refused) << c.text;
  }
}

TEST(JsonRpcDialect, WithoutACancelMethodNothingIsACancel) {
  const pool::JsonRpcDialect dialect("");
  EXPECT_EQ(read(dialect, R"({"jsonrpc":"2.0","method":"","params":{"id":7}})").kind,
            Kind::forward);
  EXPECT_EQ(dialect.cancel(7, pool::CancelReason::deadline), "");
}

TEST(JsonRpcDialect, WritesCancels) {
  const pool::JsonRpcDialect dialect("$/cancelRequest");
  for (const pool::CancelReason reason :
       {pool::CancelReason::client_cancelled, pool::CancelReason::client_left,
        pool::CancelReason::deadline}) {
    EXPECT_EQ(dialect.cancel(4096, reason),
              R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4096}})");
  }
  EXPECT_EQ(pool::JsonRpcDialect("a\"b").cancel(1, pool::CancelReason::deadline),
            R"({"jsonrpc":"2.0","method":"a\"b","params":{"id":1}})");
}

TEST(JsonRpcDialect, AddsNothingElse) {
  const pool::JsonRpcDialect dialect("c");
  EXPECT_EQ(dialect.codes(), rpc::CodeSet::plain);
  EXPECT_TRUE(dialect.traits().methods.empty());
  EXPECT_EQ(dialect.greet(1, std::nullopt), "");
  EXPECT_EQ(dialect.answer_child("ping"), "");
}

}  // namespace
}  // namespace stdgate
