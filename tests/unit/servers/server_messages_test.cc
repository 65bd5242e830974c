#include "gateway/servers/server_messages.h"

#include <gtest/gtest.h>

#include "gateway/rpc/message_text.h"

namespace stdgate::servers {
namespace {

template <class Change>
std::string changed(std::string text, Change&& change) {
  const rpc::KnownMessage known(text);
  return change(known.envelope());
}

TEST(MessageTexts, LogMessagesNameTheirMember) {
  const auto named = [](const char* text) {
    return changed(text, [](const rpc::Envelope& one) { return with_logger(one, "files"); });
  };
  EXPECT_EQ(
      named(
          R"({"method":"notifications/message","params":{"level":"info","data":1},"jsonrpc":"2.0"})"),
      R"({"method":"notifications/message","params":{"logger":"files","level":"info","data":1},"jsonrpc":"2.0"})");
  EXPECT_EQ(named(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"a"}})"),
            R"({"jsonrpc":"2.0","method":"notifications/message","params":{"logger":"files/a"}})");
  const char* const other =
      R"({"jsonrpc":"2.0","method":"notifications/other","params":{"logger":"a"}})";
  EXPECT_EQ(named(other), other);
}

TEST(MessageTexts, QuestionsNameTheirMember) {
  const auto asked = [](const char* text) {
    return changed(text,
                   [](const rpc::Envelope& one) { return question_for_client(one, 7, "files"); });
  };
  EXPECT_EQ(
      asked(R"({"jsonrpc":"2.0","id":"x","method":"roots/list"})"),
      R"({"params":{"_meta":{"stdgate/member":"files"}},"jsonrpc":"2.0","id":7,"method":"roots/list"})");
  EXPECT_EQ(
      asked(R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"b":1}}})"),
      R"({"jsonrpc":"2.0","id":7,"method":"a","params":{"_meta":{"stdgate/member":"files","b":1}}})");
}

TEST(MessageTexts, ARefusalNamesWhatTheClientHasNamed) {
  const auto named = [](const std::string& message) {
    return changed(
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":")" + message + R"("}})",
        [](const rpc::Envelope& one) { return with_name_of_client(one, "a_\"t"); });
  };
  EXPECT_EQ(named("Unknown tool: t"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: a_\"t"}})");
  EXPECT_EQ(named("params.name is missing"), "");
}

TEST(MessageTexts, ACallWithinACallIsWhatItIs) {
  const auto within = [](const std::string& params) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + params + "}";
    return changed(text,
                   [](const rpc::Envelope& one) { return request_within(one).value_or("none"); });
  };
  EXPECT_EQ(
      within(R"({"name":"call_tool","arguments":{"name":"a","arguments":{"b":1}}})"),
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1}}})");
  EXPECT_EQ(
      within(R"({"name":"call_tool","arguments":{"name":"a"}})"),
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}})");
  for (const char* const other :
       {R"({"name":"other","arguments":{"name":"a"}})", R"({"name":"call_tool"})",
        R"({"name":"call_tool","arguments":{"name":1}})",
        R"({"name":"call_tool","arguments":{"name":"a","Name":"b"}})",
        R"({"name":"call_tool","arguments":{"name":"a","name":"b"}})",
        R"({"name":"call_tool","Name":"x","arguments":{"name":"a"}})"}) {
    EXPECT_EQ(within(other), "none") << other;
  }
}

}  // namespace
}  // namespace stdgate::servers
