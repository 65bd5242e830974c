// SkippedMessage: finds the id of a message that is not kept.

#include <gtest/gtest.h>

#include <string>

#include "gateway/rpc/framer.h"

namespace stdgate {
namespace {

struct SkippedCase {
  std::string text;
  std::string_view id;
};

// Feeds the text in one piece, byte by byte, and cut in two at every position.
void check(const SkippedCase& c) {
  const std::string_view text = c.text;
  rpc::SkippedMessage bytes;
  for (size_t at = 0; at < text.size(); ++at) bytes.feed(text.substr(at, 1));
  EXPECT_EQ(bytes.id(), c.id) << text;
  EXPECT_EQ(bytes.size(), text.size());
  for (size_t at = 0; at <= text.size(); ++at) {
    rpc::SkippedMessage halves;
    halves.feed(text.substr(0, at));
    halves.feed(text.substr(at));
    EXPECT_EQ(halves.id(), c.id) << text << " cut at " << at;
    EXPECT_EQ(halves.size(), text.size());
    if (!text.empty()) {
      EXPECT_EQ(halves.last(), text.back());
    }
  }
}

TEST(SkippedMessageTest, Id) {
  const SkippedCase cases[] = {
      {R"({"id":1})", "1"},
      {R"({"id":1,"x":2})", "1"},
      {R"({"x":2,"id":1})", "1"},
      {R"({"x":[{"id":7},"id",{"y":{"id":8}}],"id":1,"z":{"id":9}})", "1"},
      {"\r\n { \"x\" : [ ] , \"id\" :\t-1.5e3 \n, \"y\" : 1 } ", "-1.5e3"},
      {R"({"id":"a"})", R"("a")"},
      {R"({"id":""})", R"("")"},
      {R"({"id":"}{\"],:\\"})", R"("}{\"],:\\")"},
      {R"({"id":"\u00e9"})", R"("\u00e9")"},
      {"{\"id\":\"\xc3\xa9\"}", "\"\xc3\xa9\""},
      {R"({"id":null})", "null"},
      {R"({"id":12345678901234567890})", "12345678901234567890"},
      {R"({"x":"\"id\":5,","id":6})", "6"},
      {R"({"x":"}","y":"{[\\\"","id":6})", "6"},
      {R"({"x":"\\","id":6})", "6"},
      {R"({"x":"id","id":6})", "6"},
      {R"({"x":"id","y":6})", ""},
      {R"({"id ":1,"Id":2,"iid":3,"i":4,"":5,"idx":6})", ""},
      {R"({"\u0069d":1})", ""},
      {R"({"x":{"id":1}})", ""},
      {R"({"x":[{"id":1}]})", ""},
      {R"([{"id":1}])", ""},
      {R"(["id":1])", ""},
      {R"("id")", ""},
      {R"({})", ""},
      {"", ""},
      {R"({"id":true})", ""},
      {R"({"id":false,"x":1})", ""},
      {R"({"id":{"id":1},"x":1})", ""},
      {R"({"id":["id",1],"x":1})", ""},
      {R"({"id":{"x":"y"}})", ""},
      {R"({"id":[]})", ""},
      // With two ids it is unclear which one counts.
      {R"({"id":1,"id":1})", ""},
      {R"({"id":1,"x":{},"id":"2"})", ""},
      // The text is incomplete or invalid. An id that is found must be usable in an answer.
      {R"({"id":12)", ""},
      {R"({"id":"12)", ""},
      {R"({"id":"12"x)", R"("12")"},
      {R"({"id":01})", ""},
      {R"({"id":-})", ""},
      {R"({"id":1x})", ""},
      {R"({"id":1 2})", ""},
      {R"({"id":nul})", ""},
      {R"({"id":nullx})", ""},
      {R"({"id":"\x"})", ""},
      {"{\"id\":\"\n\"}", ""},
      {"{\"id\":\"\xff\"}", ""},
      {R"({"id":,"x":1})", ""},
      {R"({"id"})", ""},
      {R"({id:1})", ""},
      {R"(x{"id":1})", ""},
      {R"({"id":1}{"id":2})", "1"},
      {R"(}{"id":1})", ""},
  };
  for (const SkippedCase& c : cases) check(c);
}

TEST(SkippedMessageTest, IdAtTheLimit) {
  const auto string_id = [](size_t size) { return "\"" + std::string(size - 2, 'i') + "\""; };
  const std::string fits = string_id(rpc::SkippedMessage::kMaxId);
  check({"{\"id\":" + fits + "}", fits});
  check({"{\"id\":" + string_id(rpc::SkippedMessage::kMaxId + 1) + "}", ""});
  const std::string number(rpc::SkippedMessage::kMaxId, '7');
  check({"{\"id\":" + number + "}", number});
  check({"{\"id\":" + number + "7}", ""});
  // A long text that is not kept has no effect on the next one.
  check({"{\"" + std::string(200, 'k') + "\":\"" + std::string(200, 'v') + "\",\"id\":3}", "3"});
}

TEST(SkippedMessageTest, BehindAHugeMember) {
  const std::string text =
      R"({"result":{"data":")" + std::string(3'000'000, 'x') + R"(\"}"},"id":4})";
  rpc::SkippedMessage skipped;
  skipped.feed(text);
  EXPECT_EQ(skipped.id(), "4");
}

TEST(SkippedMessageTest, NamesAMethod) {
  const auto names = [](std::string_view text) {
    rpc::SkippedMessage whole;
    whole.feed(text);
    rpc::SkippedMessage bytes;
    for (size_t at = 0; at < text.size(); ++at) bytes.feed(text.substr(at, 1));
    EXPECT_EQ(whole.names_method(), bytes.names_method()) << text;
    return whole.names_method();
  };
  for (const char* const text :
       {R"({"method":"m","id":1})", R"({"id":1, "method" : nul)", R"({"method")"}) {
    EXPECT_TRUE(names(text)) << text;
  }
  for (const char* const text : {R"({"id":1,"result":{"method":1}})", R"({"id":"method"})",
                                 R"(["method"])", R"({"Method":1})", R"({"method)", "method", ""}) {
    EXPECT_FALSE(names(text)) << text;
  }
}

}  // namespace
}  // namespace stdgate
