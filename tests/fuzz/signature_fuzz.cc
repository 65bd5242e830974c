// Fuzz target: a field that parse_dictionary() accepts has a canonical form with the same meaning.

#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "transports/http/message_signature.h"

namespace stdgate::test::signature_fuzz {
namespace {

void check(std::string_view original) {
  const auto members = http::parse_dictionary(original);
  if (!members) return;
  for (const http::DictionaryMember& member : *members) {
    require(!member.key.empty(), "each member has a key", original);
    if (!member.is_list) {
      require(member.items.size() == 1, "an item is one", original);
      continue;
    }
    const std::string written = member.list_text();
    const auto again = http::parse_dictionary("a=" + written);
    require(again && again->size() == 1 && again->front().is_list, "what is written can be read",
            original);
    require(again->front().list_text() == written, "there is one way to write it", original);
    require(again->front().items.size() == member.items.size(), "nothing is lost", original);
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::signature_fuzz
