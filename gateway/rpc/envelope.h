// Envelope: what a JSON-RPC 2.0 message says about itself, as views over the received bytes.
//
// Job: validate the whole text (RFC 8259, UTF-8) in one pass, find the members of the envelope, and
// blank raw newlines between tokens so that the text can travel as one line. Payloads are never
// re-serialised. A member that occurs twice, or whose key is spelled with escapes, is rejected:
// else a rule could judge another message than the child reads.
// Owner: the caller owns the bytes; an EnvelopeParser owns the list of a batch's entries and is
// reused from message to message, so the steady state allocates nothing.
// Errors: values. No I/O, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::rpc {

enum class MessageKind : uint8_t { request, notification, result, error };

// All views point into the text given to the parser (JSON-RPC 2.0 sections 4 and 5).
struct Envelope {
  MessageKind kind = MessageKind::notification;
  std::string_view text;     // the message from '{' to '}'
  std::string_view id;       // raw JSON; empty when absent
  std::string_view method;   // between the quotes, as spelled; empty for responses
  std::string_view params;   // raw JSON; empty when absent
  std::string_view payload;  // raw JSON of result or error; empty for requests and notifications
  bool method_has_escapes = false;
  // The message has a member whose key resembles one of the envelope (json_text.h). A child that
  // ignores case may read another message than this one, or a request in an answer. Rules, checks
  // and pins look at this, and whoever passes on a client's answer.
  bool has_lookalikes = false;

  // The name that the child reads: `method`, or a view of `scratch`.
  std::string_view decoded_method(std::string& scratch) const {
    return method_has_escapes ? decode_string(method, scratch) : method;
  }
};

// One message of a document: an envelope, or why the message was rejected.
struct ParsedMessage {
  // Of a rejected message only text, id where it is readable, and the kind that it looks like:
  // with "result" or "error" and no "method" a response, else by its id request or notification.
  Envelope envelope;
  const char* rejection = nullptr;  // null: good. Otherwise a constant phrase (invalid request)
  [[nodiscard]] bool ok() const { return rejection == nullptr; }
};

// A member of an object: its key between the quotes, as spelled, and its value, raw.
struct RawMember {
  std::string_view key;
  std::string_view value;
};

// Limits of what EnvelopeParser takes, and how it reads.
struct EnvelopeLimits {
  size_t depth = 128;    // nesting of arrays and objects, the envelope itself being 1
                         // (in a batch the array is 1, its envelopes 2)
  size_t batch = 1000;   // messages in one batch
  size_t id = 1024;      // bytes of a raw id
  size_t method = 1024;  // bytes of a method name as spelled
  // A message without the member "jsonrpc" is taken as if it had it; see EnvelopeParser.
  bool version_optional = false;
  bool notes_params = false;  // see EnvelopeParser::params()
};

// A text that is one message or one batch.
struct Document {
  bool batch = false;
  std::span<const ParsedMessage> messages;  // one, or the batch's (at least one)
  bool omits_version = false;  // a message has come without "jsonrpc", which has been added
};

// Why a whole text is refused. The answer is one error response with id null.
struct DocumentError {
  Fault fault = Fault::parse_error;  // parse_error, invalid_request (empty batch, nested too
                                     // deeply) or too_large (more messages than a batch may have)
  const char* reason = "";           // constant phrase
  size_t offset = 0;                 // byte at which the parser stopped
};

// The fault that answers it.
FaultReport report_of(const DocumentError& error);

// EnvelopeParser: reads a text into the envelopes of its messages.
class EnvelopeParser {
 public:
  static constexpr size_t kMaxNoted = 16;  // members of params; if there are more, none is noted

  explicit EnvelopeParser(const EnvelopeLimits& limits) : limits_(limits), nesting_(limits.depth) {}

  // `text` is changed only where a CR or LF stands between tokens (it becomes a space). The views
  // in the answer are valid as long as `text` is, its lists until the next parse(). A
  // text that is neither object nor array, and an entry of a batch that is no object, are invalid
  // requests, not parse errors (JSON-RPC 2.0 section 7). Where the version is optional and has been
  // added, the views point into a text of the parser's own, until the next parse() or release().
  tl::expected<Document, DocumentError> parse(std::span<char> text);
  // Of the last text, if it was a single message, and a good one: the members of its params, in
  // their order. Empty: they were not noted. Valid until the next parse().
  [[nodiscard]] std::span<const RawMember> params() const { return params_; }
  // Gives back the memory of that text.
  void release() { std::string().swap(completed_); }

 private:
  void add_versions(std::string_view text);

  const EnvelopeLimits limits_;
  std::vector<char> nesting_;  // the scanner's: one byte for each depth
  std::vector<ParsedMessage> messages_;
  std::vector<RawMember> params_;
  std::string completed_;  // the text, with what it omitted
};

// The code of an error response (JSON-RPC 2.0 section 5.1); nothing for other kinds, and for an
// integer beyond 64 bits.
std::optional<int64_t> error_code(const Envelope& envelope);

}  // namespace stdgate::rpc
