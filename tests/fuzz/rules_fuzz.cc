// Fuzz target: a message that rules allow names only allowed elements, in any spelling, and
// whichever of repeated members a reader takes. Patterns match as their definition says.

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gateway/base/text.h"
#include "gateway/call/rule_filter.h"
#include "gateway/mcp/mcp_dialect.h"
#include "gateway/policy/rules.h"
#include "gateway/rpc/json_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::rules_fuzz {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr const char* kTools = "read_*";

// The definition: each '*' matches any number of characters.
bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*') {
    return !name.empty() && name[0] == pattern[0] && fits(pattern.substr(1), name.substr(1));
  }
  for (size_t taken = 0; taken <= name.size(); ++taken) {
    if (fits(pattern.substr(1), name.substr(taken))) return true;
  }
  return false;
}

void check_pattern(std::string_view input) {
  constexpr size_t kShort = 24;  // the definition is slow
  const size_t slash = input.find('/');
  if (slash == std::string_view::npos || slash > 6 || input.size() > kShort) return;
  const std::string_view pattern = input.substr(0, slash);
  const std::string_view name = input.substr(slash + 1);
  require(policy::matches(pattern, name) == fits(pattern, name), "a pattern fits by its definition",
          input);
}

// The texts of all members with this name, ignoring case.
std::vector<std::string> texts_of(const object& in, std::string_view lower_name) {
  std::vector<std::string> texts;
  for (const auto member : in) {
    if (!equals_ignoring_case(member.key, lower_name)) continue;
    std::string_view text;
    texts.emplace_back(member.value.get(text) == simdjson::SUCCESS ? text : "(no text)");
  }
  return texts;
}

// Checks every name that a reader of the whole message could take for the tool.
void check_readings(const std::string& message, std::string_view input) {
  simdjson::dom::parser parser;
  element whole;
  object request;
  if (parser.parse(message).get(whole) != simdjson::SUCCESS) return;  // beyond simdjson's types
  if (whole.get(request) != simdjson::SUCCESS) return;
  const std::vector<std::string> methods = texts_of(request, "method");
  require(methods.size() == 1, "one method", input);
  if (methods[0] != "tools/call") return;
  for (const auto member : request) {
    if (!equals_ignoring_case(member.key, "params")) continue;
    object params;
    if (member.value.get(params) != simdjson::SUCCESS) continue;
    for (const std::string& tool : texts_of(params, "name")) {
      require(policy::matches(kTools, tool), "no other tool can be read from it", input);
    }
  }
}

void check_message(std::string_view input) {
  static const mcp::McpDialect kDialect("1");
  static const config::BackendConfig kBackend = [] {
    config::BackendConfig backend;
    backend.protocol = config::Protocol::mcp;
    backend.rules = {{.allow = {"*"}, .tools = {kTools}},
                     {.allow = {"*"}, .resources = {"file:///open/*"}}};
    return backend;
  }();
  static call::CallRules rules(kBackend, {}, kDialect);
  std::vector<char> bytes(input.begin(), input.end());
  rpc::EnvelopeParser parser({});
  const auto document = parser.parse(bytes);
  if (!document) return;
  for (const rpc::ParsedMessage& message : document->messages) {
    const rpc::Envelope& envelope = message.envelope;
    const bool has_method = envelope.kind == rpc::MessageKind::request ||
                            envelope.kind == rpc::MessageKind::notification;
    if (!message.ok() || !has_method) continue;
    std::string scratch;
    const std::string method(rpc::decode_string(envelope.method, scratch));
    const call::CallRuling ruling = rules.judge(envelope, method, nullptr);
    if (ruling.verdict != policy::Verdict::allowed) continue;
    check_readings(std::string(envelope.text), input);
  }
}

void check(std::string_view input) {
  check_pattern(input);
  check_message(input);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::rules_fuzz
