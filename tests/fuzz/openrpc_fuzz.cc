// Fuzz target: any text is an OpenRPC document, or is refused with the places of its errors. Params
// and results are checked by the document. A client's view of it has no hidden method.
#include <string>

#include "gateway/schema/canonical_json.h"
#include "gateway/schema/openrpc_cut.h"
#include "gateway/schema/openrpc_document.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::openrpc_fuzz {
namespace {

using schema::OpenRpcDocument;

void check_cuts(std::string_view input) {
  const auto none = schema::cut_openrpc(input, [](std::string_view) { return false; });
  if (!none) return;
  require(schema::is_json(*none), "a cut document is JSON", input);
  require(none->find(R"("methods":[])") != std::string::npos, "no method is left", input);
  const auto some = schema::cut_openrpc(input, [](std::string_view name) { return name == "a"; });
  require(some && schema::is_json(*some), "so is another cut", input);
  const auto again = schema::cut_openrpc(*some, [](std::string_view name) { return name == "a"; });
  require(again == some, "cutting again changes nothing", input);
}

void check(std::string_view input) {
  if (schema::is_json(std::string(input))) check_cuts(input);
  const auto document = OpenRpcDocument::read(input);
  if (!document) {
    require(!document.error().empty() && document.error().size() <= OpenRpcDocument::kMaxFaults,
            "what is refused has faults", input);
    return;
  }
  require(schema::is_json(std::string(document->text())), "the text is JSON", input);
  require(document->text().find('\n') == std::string_view::npos, "in one line", input);
  schema::SchemaCheck check;
  for (const char* name : {"a", "b", "m"}) {
    const OpenRpcDocument::Method* const method = document->find(name);
    if (method == nullptr) continue;
    for (const char* params :
         {"{}", "[]", "[1]", R"({"a":1,"b":[{"a":"x"}]})", R"(["x",{},null])"}) {
      static_cast<void>(check.check(document->compiled(), method->params, params));
      if (method->result == schema::kNoNode) continue;
      static_cast<void>(check.check(document->compiled(), method->result, params));
    }
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::openrpc_fuzz
