#include "gateway/call/splice.h"

#include <gtest/gtest.h>

#include <string>

namespace stdgate {
namespace {

struct Case {
  std::string text;
  std::string id;        // as it stands in the text; empty: none
  std::string token;     // so too
  std::string replaced;  // so too
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
