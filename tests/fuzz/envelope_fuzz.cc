// Fuzz target: EnvelopeParser, compared with an independent parser and with itself.

#include <algorithm>
#include <string>
#include <vector>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/message_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_oracle.h"

namespace stdgate::test::envelope_fuzz {
namespace {

constexpr rpc::EnvelopeLimits kLimits{.depth = 24, .batch = 6, .id = 32, .method = 32};

bool lies_within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_refusal(const rpc::DocumentError& error, std::string_view text) {
  require(error.offset <= text.size(), "the offset lies in the text", text);
  const bool json = oracle_accepts(text);
  switch (error.fault) {
    case rpc::Fault::parse_error:
      require(!json, "a parse error is no JSON", text);
      break;
    case rpc::Fault::too_large:
      require(std::count(text.begin(), text.end(), ',') >= static_cast<long>(kLimits.batch),
              "so many messages", text);
      break;
    default:
      require(error.fault == rpc::Fault::invalid_request, "no other fault", text);
      require(deepest_nesting(text) > kLimits.depth || (json && deepest_nesting(text) == 1),
              "too deep, or an empty batch", text);
  }
}

void check_message(const rpc::ParsedMessage& message, std::string_view text) {
  const rpc::Envelope& envelope = message.envelope;
  require(lies_within(envelope.text, text) && !envelope.text.empty(), "text is in place", text);
  require(oracle_accepts(envelope.text), "the message is JSON", text);
  require(lies_within(envelope.id, envelope.text), "id is in place", text);
  require(envelope.id.size() <= kLimits.id, "id is in its limit", text);
  require(envelope.id.empty() || oracle_accepts(envelope.id), "id is JSON", text);
  if (!message.ok()) return;
  require(lies_within(envelope.method, envelope.text), "method is in place", text);
  require(lies_within(envelope.params, envelope.text), "params is in place", text);
  require(lies_within(envelope.payload, envelope.text), "payload is in place", text);
  require(rpc::find_member(envelope.text, "jsonrpc").value_or("") == "\"2.0\"", "jsonrpc", text);
  require(rpc::find_member(envelope.text, "id").value_or("") == envelope.id, "id is found again",
          text);
  require(rpc::find_member(envelope.text, "method").has_value() == envelope.payload.empty(),
          "a call or a response", text);
  require(rpc::find_member(envelope.text, "error").has_value() ==
              (envelope.kind == rpc::MessageKind::error),
          "an error", text);
  std::string scratch;
  std::string written;
  rpc::append_json_string(written, rpc::decode_string(envelope.method, scratch));
  require(oracle_accepts(written), "the decoded method can be written", text);
}

// A text whose newlines have been blanked has the same meaning, and does not change again.
void check_again(std::string once, std::string_view original) {
  rpc::EnvelopeParser first(kLimits);
  rpc::EnvelopeParser second(kLimits);
  std::string again = once;
  const auto a = first.parse(once);
  const auto b = second.parse(again);
  require(once == again && once.find_first_of("\r\n") == std::string::npos, "one line", original);
  require(a && b && a->messages.size() == b->messages.size(), "parsed again", original);
  for (size_t i = 0; i < a->messages.size(); ++i) {
    const rpc::ParsedMessage& x = a->messages[i];
    const rpc::ParsedMessage& y = b->messages[i];
    require(x.rejection == y.rejection && x.envelope.id == y.envelope.id &&
                x.envelope.kind == y.envelope.kind && x.envelope.method == y.envelope.method,
            "the same messages", original);
  }
}

// A peer may omit the version. A lenient parser completes such a message, and a strict parser must
// accept the completed message.
void check_lenient(std::string_view original) {
  constexpr rpc::EnvelopeLimits kLenient{
      .depth = 24, .batch = 6, .id = 32, .method = 32, .version_optional = true};
  std::vector<char> bytes(original.begin(), original.end());
  rpc::EnvelopeParser lenient(kLenient);
  const auto document = lenient.parse(bytes);
  if (!document) return;
  for (const rpc::ParsedMessage& message : document->messages) {
    if (!message.ok()) continue;
    std::string text(message.envelope.text);
    rpc::EnvelopeParser strict(kLimits);
    const auto again = strict.parse(text);
    require(again && again->messages[0].ok(), "the completed message is good", original);
    const std::string_view whole = text;
    std::string bare = rpc::without_version({&whole, 1});
    require(oracle_accepts(bare), "it is JSON without the version", original);
    require(rpc::is_absent(rpc::find_member(bare, "jsonrpc")), "the version is gone", original);
    const auto completed = lenient.parse(bare);
    require(completed && completed->omits_version && completed->messages[0].ok(),
            "it is completed again", original);
    return;  // the document's views are invalid now
  }
}

void check(std::string_view original) {
  check_lenient(original);
  // No byte follows the text, so the address sanitizer notices a read beyond its end.
  std::vector<char> bytes(original.begin(), original.end());
  rpc::EnvelopeParser parser(kLimits);
  const auto document = parser.parse(bytes);
  const std::string_view text(bytes.data(), bytes.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool blanked = text[i] == ' ' && (original[i] == '\n' || original[i] == '\r');
    require(text[i] == original[i] || blanked, "nothing but newlines changes", original);
  }
  if (!document) {
    check_refusal(document.error(), original);
    return;
  }
  require(oracle_accepts(original), "a document is JSON", original);
  require(!document->messages.empty(), "a document has messages", original);
  for (const rpc::ParsedMessage& message : document->messages) check_message(message, text);
  check_again(std::string(text), original);
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::envelope_fuzz
