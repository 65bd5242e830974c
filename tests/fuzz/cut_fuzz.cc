// Fuzz target: cut_elements() leaves valid JSON, with exactly the elements that the filter keeps.

#include <string>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_oracle.h"

namespace stdgate::test::cut_fuzz {
namespace {

constexpr std::string_view kList = "tools";

// Keeps elements with an even number of bytes.
struct Even final : rpc::ElementFilter {
  bool keeps(std::string_view element) override {
    const bool even = element.size() % 2 == 0;
    if (even) kept.emplace_back(element);
    return even;
  }
  std::vector<std::string> kept;
};

// Keeps and records all elements.
struct All final : rpc::ElementFilter {
  bool keeps(std::string_view element) override {
    seen.emplace_back(element);
    return true;
  }
  std::vector<std::string> seen;
};

void check(std::string_view original) {
  std::vector<char> bytes(original.begin(), original.end());
  rpc::EnvelopeParser parser({});
  const auto document = parser.parse(bytes);
  if (!document) return;
  for (const rpc::ParsedMessage& message : document->messages) {
    const std::string_view text = message.envelope.text;
    Even filter;
    std::string cut;
    if (!rpc::cut_elements(text, kList, filter, {"scope", "\"private\""}, cut)) {
      require(cut.empty(), "nothing is written where nothing changes", original);
      cut = text;
    }
    require(oracle_accepts(cut), "what is left is JSON", original);
    All rest;
    std::string unchanged;
    require(!rpc::cut_elements(cut, kList, rest, {"scope", "\"private\""}, unchanged),
            "nothing else is to be changed", original);
    require(rest.seen == filter.kept, "what was kept is there, byte for byte", original);
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::cut_fuzz
