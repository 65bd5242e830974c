// The messages that the gateway makes itself, byte for byte.

#include "gateway/rpc/message_text.h"

#include <gmock/gmock.h>

namespace stdgate {
namespace {

TEST(MessageTextTest, Shapes) {
  struct Case {
    std::string text;
    std::string_view shape;
    rpc::MessageKind kind;
  };
  using Kind = rpc::MessageKind;
  Case cases[] = {
      {rpc::request_text(7, "ping"), R"({"jsonrpc":"2.0","id":7,"method":"ping"})", Kind::request},
      {rpc::request_text(UINT64_MAX, "m", "{}"),
       R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"m","params":{}})", Kind::request},
      {rpc::request_text(R"("a\"b")", "a/b", R"({"c": [1]})"),
       R"({"jsonrpc":"2.0","id":"a\"b","method":"a/b","params":{"c": [1]}})", Kind::request},
      {rpc::request_text("1", ""), R"({"jsonrpc":"2.0","id":1,"method":""})", Kind::request},
      {rpc::request_text("1", "a\"\\\n\xff"),
       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\\"\\\\\\n\\ufffd\"}", Kind::request},
      {rpc::spelled_request_text("1", R"(a\/\u0062)", "[]"),
       R"({"jsonrpc":"2.0","id":1,"method":"a\/\u0062","params":[]})", Kind::request},
      {rpc::spelled_request_text("1", "a", {}), R"({"jsonrpc":"2.0","id":1,"method":"a"})",
       Kind::request},
      {rpc::notification_text("exit"), R"({"jsonrpc":"2.0","method":"exit"})", Kind::notification},
      {rpc::notification_text("a\"", "[1]"), R"({"jsonrpc":"2.0","method":"a\"","params":[1]})",
       Kind::notification},
      {rpc::result_text("1.5", "null"), R"({"jsonrpc":"2.0","id":1.5,"result":null})",
       Kind::result},
      {rpc::error_text("1", R"({"code":1,"message":"m","data":2})"),
       R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":2}})", Kind::error},
      {rpc::error_text("", R"({"code":1,"message":"m"})"),
       R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})", Kind::error},
      {rpc::error_text("\"x\"", -32601, "no \"m\""),
       R"({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no \"m\""}})", Kind::error},
      {rpc::response_text("1", R"("result":{})"), R"({"jsonrpc":"2.0","id":1,"result":{}})",
       Kind::result},
      {rpc::response_text("1", R"("error":{"code":1,"message":"m"})"),
       R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})", Kind::error},
  };
  for (Case& c : cases) {
    EXPECT_EQ(c.text, c.shape);
    const rpc::KnownMessage known(c.text);
    EXPECT_EQ(known.envelope().kind, c.kind) << c.shape;
  }
}

}  // namespace
}  // namespace stdgate
