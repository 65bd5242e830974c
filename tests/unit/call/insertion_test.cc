// Members that are inserted into a message on its way to a child.
#include "gateway/call/insertion.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "gateway/call/call_queue.h"
#include "gateway/call/splice.h"

namespace stdgate {

namespace {

using Place = call::InsertionPlace;

std::string spliced(const call::Outgoing& message) {
  call::Splice splice(message, rpc::WireId{7}, std::nullopt);
  std::string written;
  for (const std::string_view part : splice.framed("", "")) written += part;
  EXPECT_EQ(splice.size(), written.size());
  return written;
}

// The message with `members` inserted at `place`; nothing if they cannot be inserted.
std::optional<std::string> check(Place place, std::string text, std::string_view members) {
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const auto document = parser.parse(text);
  EXPECT_TRUE(document.has_value() && document->messages[0].ok()) << text;
  const rpc::Envelope& envelope = document->messages[0].envelope;
  const auto insertion = call::insertion_at(place, envelope, members);
  if (!insertion) return std::nullopt;
  call::Outgoing message;
  message.text = envelope.text;
  message.inserted = {&*insertion, 1};
  std::string written = spliced(message);
  std::string again = written;
  rpc::EnvelopeParser reader{rpc::EnvelopeLimits{}};
  EXPECT_TRUE(reader.parse(again).has_value()) << written;
  return written;
}

constexpr std::string_view kHead = R"({"jsonrpc":"2.0","id":1,"method":"m")";

TEST(Insertion, GoesIntoItsObject) {
  struct Row {
    Place place;
    std::string params;    // with comma and key; may be empty
    std::string expected;  // empty if the insertion is refused
  };
  const std::string head = R"({"x":1,"jsonrpc":"2.0","id":1,"method":"m")";
  const std::string plain(kHead);
  const Row rows[] = {
      {Place::envelope, "", head + "}"},
      {Place::envelope, R"(,"params":[1])", head + R"(,"params":[1]})"},
      {Place::params, "", R"({"params":{"x":1},"jsonrpc":"2.0","id":1,"method":"m"})"},
      {Place::params, R"(,"params":null)", plain + R"(,"params":{"x":1}})"},
      {Place::meta, R"(,"params" : null )", plain + R"(,"params" : {"_meta":{"x":1}} })"},
      {Place::params, R"(,"params":{})", plain + R"(,"params":{"x":1}})"},
      {Place::params, R"(,"params":{  })", plain + R"(,"params":{"x":1  }})"},
      {Place::params, R"(,"params": {"a":{}})", plain + R"(,"params": {"x":1,"a":{}}})"},
      {Place::params, R"(,"params":[])", ""},
      {Place::meta, "", R"({"params":{"_meta":{"x":1}},"jsonrpc":"2.0","id":1,"method":"m"})"},
      {Place::meta, R"(,"params":{})", plain + R"(,"params":{"_meta":{"x":1}}})"},
      {Place::meta, R"(,"params":{ "a":1})", plain + R"(,"params":{"_meta":{"x":1}, "a":1}})"},
      {Place::meta, R"(,"params":{"a":1,"_meta":{}})",
       plain + R"(,"params":{"a":1,"_meta":{"x":1}}})"},
      {Place::meta, R"(,"params":{"_meta": { "b":2},"a":1})",
       plain + R"(,"params":{"_meta": {"x":1, "b":2},"a":1}})"},
      {Place::meta, R"(,"params":{"a":{"_meta":{}}})",
       plain + R"(,"params":{"_meta":{"x":1},"a":{"_meta":{}}}})"},
      {Place::meta, R"(,"params":{"_meta":null})", ""},
      {Place::meta, R"(,"params":{"_meta":{},"_meta":{}})", ""},
      {Place::meta, R"(,"params":[1])", ""},
  };
  for (const Row& row : rows) {
    const auto written = check(row.place, plain + row.params + "}", R"("x":1)");
    EXPECT_EQ(written.value_or(""), row.expected) << row.params;
  }
}

TEST(Insertion, SeveralAndReplacementsKeepTheirPlaces) {
  std::string text =
      R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"_meta":{"progressToken":"t"},"p":1}})";
  rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
  const auto document = parser.parse(text);
  ASSERT_TRUE(document.has_value());
  const rpc::Envelope& envelope = document->messages[0].envelope;
  const std::array insertions{*call::insertion_at(Place::meta, envelope, R"("v":"1","w":2)"),
                              *call::insertion_at(Place::params, envelope, R"("q":0)")};
  call::Outgoing message;
  message.text = text;
  message.id = {text.find("\"a\""), 3};
  message.progress_token = {text.find("\"t\""), 3};
  message.replaced = {text.find(":1}") + 1, 1};
  message.replacement = "null";
  message.inserted = insertions;
  EXPECT_EQ(
      spliced(message),
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"q":0,"_meta":{"v":"1","w":2,"progressToken":7},"p":null}})");
}

TEST(Insertion, WhereAPlaceBeginsComesBeforeWhatStandsThere) {
  const call::Insertion insertion{1, "<", "new", ">"};
  call::Outgoing message;
  message.text = "(id)";
  message.id = {1, 2};
  message.inserted = {&insertion, 1};
  EXPECT_EQ(spliced(message), "(<new>7)");
}

TEST(Insertion, OfAMessageThatWaitsIsKeptWithIt) {
  config::PoolConfig config;
  call::CallQueue queue{config};
  {
    std::string text(kHead);
    text += "}";
    std::string first = R"("first":1)";
    std::string second = R"("second":2)";
    const std::array insertions{call::Insertion{1, "", first, ","},
                                call::Insertion{1, "", second, ","}};
    call::Outgoing message;
    message.text = text;
    message.inserted = insertions;
    EXPECT_EQ(message.bytes(), text.size() + first.size() + second.size());
    queue.push(nullptr, message);
    EXPECT_EQ(queue.bytes(), message.bytes());
    for (std::string* gone : {&text, &first, &second}) gone->assign(gone->size(), '!');
  }
  call::WaitingMessage waiting = queue.pop();
  EXPECT_EQ(spliced(waiting.outgoing()),
            R"({"first":1,"second":2,"jsonrpc":"2.0","id":1,"method":"m"})");
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(Insertion, MayStandForAPartOfTheText) {
  const call::Insertion insertions[] = {{2, "", "new", "", 3}, {8, "<", "in", ">"}};
  call::Outgoing message;
  message.text = "a old b c";
  message.inserted = insertions;
  EXPECT_EQ(spliced(message), "a new b <in>c");
}

TEST(Insertion, MayBeForOneEraAlone) {
  const call::Insertion insertions[] = {{0, "", "modern ", "", 0, PeerKind::stateless},
                                        {0, "", "legacy ", "", 0, PeerKind::stateful}};
  call::Outgoing message;
  message.text = "text";
  message.inserted = insertions;
  EXPECT_EQ(spliced(message), "legacy text") << "a child of no era counts as one";
  const auto written_for = [&](PeerKind peer_kind) {
    call::Splice splice(message, rpc::WireId{7}, peer_kind);
    std::string written;
    for (const std::string_view part : splice.framed("", "")) written += part;
    return written;
  };
  EXPECT_EQ(written_for(PeerKind::stateless), "modern text");
  EXPECT_EQ(written_for(PeerKind::stateful), "legacy text");
}

}  // namespace

namespace {

struct Case {
  std::string text;
  std::string id;        // as in the text; may be empty
  std::string token;     // as in the text; may be empty
  std::string replaced;  // as in the text; may be empty
  std::string expected;
};

TextPlace place_of(const std::string& text, const std::string& part) {
  return part.empty() ? TextPlace{} : TextPlace{text.find(part), part.size()};
}

TEST(Splice, PutsTheChildsNumbersIntoTheClientsBytes) {
  const Case cases[] = {
      {"(id)", "id", "", "", "<(2147483647)>"},
      {"id", "id", "", "", "<2147483647>"},
      {"plain", "", "", "", "<plain>"},
      {"a id b token c", "id", "token", "", "<a 2147483647 b 2147483647 c>"},
      {"token b id", "id", "token", "", "<2147483647 b 2147483647>"},
      {"pid token id.", "id.", "token", "pid", "<null 2147483647 2147483647>"},
      {"token pid id.", "id.", "token", "pid", "<2147483647 null 2147483647>"},
      {"id. pid token", "id.", "token", "pid", "<2147483647 null 2147483647>"},
      {"pid!", "", "", "pid", "<null!>"},
      {"", "", "", "", "<>"},
  };
  for (const Case& c : cases) {
    call::Outgoing message;
    message.text = c.text;
    message.id = place_of(c.text, c.id);
    message.progress_token = place_of(c.text, c.token);
    message.replaced = place_of(c.text, c.replaced);
    message.replacement = "null";
    call::Splice splice(message, rpc::WireId{INT32_MAX}, std::nullopt);
    std::string written;
    for (const std::string_view part : splice.framed("<", ">")) written += part;
    EXPECT_EQ(written, c.expected);
    EXPECT_EQ(splice.size(), c.expected.size() - 2) << c.text;
  }
}

}  // namespace

}  // namespace stdgate
