#include <gtest/gtest.h>

#include <string>

#include "transports/websocket/message_reader.h"

namespace stdgate::test {
namespace {

struct Case {
  const char* what;
  std::string text;
  // How many bytes can be the beginning of UTF-8; npos: all of them.
  size_t good = std::string::npos;
  bool complete = true;
};

const Case kCases[] = {
    {"empty", ""},
    {"ASCII", "plain text, longer than any word of the machine that checks it"},
    {"two bytes", "\u00e9\u0080\u07ff"},
    {"three bytes", "\u0800\u20ac\ud7ff\ue000\uffff"},
    {"four bytes", "\U00010000\U0001f600\U0010ffff"},
    {"the example of Autobahn", "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"},
    {"a character that begins", "a\xc3", std::string::npos, false},
    {"two of three", "a\xe2\x82", std::string::npos, false},
    {"three of four", "a\xf0\x9f\x98", std::string::npos, false},
    {"one of four", "\xf4", std::string::npos, false},
    {"a lone continuation",
     "ab\x80"
     "c",
     2},
    {"a continuation too many", "\xc3\xa9\xa9", 2},
    {"overlong two", "a\xc0\x80", 1},
    {"overlong two, c1", "a\xc1\xbf", 1},
    {"overlong three", "a\xe0\x9f\xbf", 2},
    {"overlong four", "a\xf0\x8f\xbf\xbf", 2},
    {"first surrogate", "a\xed\xa0\x80", 2},
    {"last surrogate", "a\xed\xbf\xbf", 2},
    {"above U+10FFFF", "a\xf4\x90\x80\x80", 2},
    {"f5", "a\xf5\x80\x80\x80", 1},
    {"ff", "a\xff", 1},
    {"a character cut by ASCII", "a\xe2\x82z", 3},
    {"a character cut by another", "a\xf0\x9f\xc3\xa9", 3},
    {"bad after much that is good", std::string(200, 'x') + "\xed\xa0\x80", 201},
};

// Bytes taken, with pieces of `piece` bytes, before the one that is refused; npos: none is.
size_t good_bytes(std::string_view text, size_t piece, bool* complete) {
  websocket::Utf8Validator validator;
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!validator.feed(text.substr(at, piece))) return at;
  }
  *complete = validator.complete();
  return std::string::npos;
}

TEST(Utf8Validator, FailsAtTheFirstByteThatCannotBe) {
  for (const Case& c : kCases) {
    bool complete = true;
    EXPECT_EQ(good_bytes(c.text, 1, &complete), c.good) << c.what;
    EXPECT_EQ(complete, c.complete) << c.what;
  }
}

// The piece that holds the bad byte is refused, wherever the text is cut, and no earlier one.
TEST(Utf8Validator, CutAnywhere) {
  for (const Case& c : kCases) {
    for (size_t cut = 0; cut <= c.text.size(); ++cut) {
      websocket::Utf8Validator validator;
      const bool first = validator.feed(std::string_view(c.text).substr(0, cut));
      EXPECT_EQ(first, c.good == std::string::npos || cut <= c.good) << c.what << " " << cut;
      if (!first) continue;
      const bool second = validator.feed(std::string_view(c.text).substr(cut));
      EXPECT_EQ(second, c.good == std::string::npos) << c.what << " " << cut;
      EXPECT_EQ(second && validator.complete(), second && c.complete) << c.what << " " << cut;
    }
  }
}

}  // namespace
}  // namespace stdgate::test
