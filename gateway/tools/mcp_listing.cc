#include "gateway/tools/mcp_listing.h"

#include <simdjson.h>

#include "gateway/rpc/json_member.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::tools {

std::string list_request(rpc::WireId id, std::string_view method, std::string_view cursor,
                         std::string_view stamp) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":)";
  rpc::append_json_string(text, method);
  std::string params;
  if (!stamp.empty()) params.append(R"("_meta":{)").append(stamp).append("}");
  if (!cursor.empty()) {
    if (!params.empty()) params += ',';
    params += R"("cursor":)";
    rpc::append_json_string(params, cursor);
  }
  return text.append(R"(,"params":{)").append(params).append("}}");
}

tl::expected<ListPage, std::string> read_page(std::string_view result, const ListKind& kind) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(result)).get(object) != simdjson::SUCCESS) {
    return tl::unexpected<std::string>("the result is no object");
  }
  simdjson::dom::array elements;
  if (object[kind.kind].get(elements) != simdjson::SUCCESS) {
    return tl::unexpected("the result has no array \"" + std::string(kind.kind) + "\"");
  }
  ListPage page;
  for (const simdjson::dom::element element : elements) {
    std::string_view name;
    if (element[kind.name].get(name) != simdjson::SUCCESS) {
      return tl::unexpected("one of its " + std::string(kind.kind) + " has no \"" +
                            std::string(kind.name) + "\"");
    }
    std::string_view description;
    if (element["description"].get(description) != simdjson::SUCCESS) description = {};
    page.entries.push_back(ListEntry{std::string(name), std::string(description)});
  }
  std::string_view cursor;
  if (object["nextCursor"].get(cursor) == simdjson::SUCCESS) page.next_cursor = cursor;
  return page;
}

bool offers(std::string_view capabilities, const ListKind& kind) {
  return rpc::find_member(capabilities, kind.kind).has_value();
}

}  // namespace stdgate::tools
