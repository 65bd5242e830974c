#include "gateway/pool/child_facts.h"

#include "gateway/base/encodings.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::pool {

namespace {

// Empty when the member is missing or repeated.
std::string_view member(std::string_view object, std::string_view key) {
  return rpc::find_member(object, key).value_or(std::string_view());
}

}  // namespace

std::string fact_text(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"') return {};
  std::string scratch;
  const std::string_view text = rpc::decode_string(raw.substr(1, raw.size() - 2), scratch);
  return std::string(cut_utf8(text, ChildFacts::kMaxNameBytes));
}

ChildFacts greeting_facts(std::string_view result) {
  ChildFacts facts;
  const std::string_view server = member(result, "serverInfo");
  facts.server_name = fact_text(member(server, "name"));
  facts.server_version = fact_text(member(server, "version"));
  const std::string_view capabilities = member(result, "capabilities");
  if (capabilities.size() <= ChildFacts::kMaxRawBytes) facts.capabilities = capabilities;
  return facts;
}

}  // namespace stdgate::pool
