// Messages as texts: messages that the gateway makes, a message that is parsed again, and messages
// without a version.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/base/check.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::rpc {

// --- The JSON-RPC 2.0 messages that the gateway makes itself, as texts without spaces
//
// Members stand in the order of the shapes that the functions name. `id`, `params`, `result` and
// `error` are valid JSON and are copied as they are; the caller vouches for them. `method` is a
// text and is escaped. Messages of peers are never built again: they are passed on with edits
// (gateway/call/splice.h).

// The begin of each message with an id, for responses that are written in parts.
inline constexpr std::string_view kIdHead = R"({"jsonrpc":"2.0","id":)";

// {"jsonrpc":"2.0","id":<id>,"method":"<method>"[,"params":<params>]}; empty params are omitted.
std::string request_text(std::string_view id, std::string_view method,
                         std::string_view params = {});
std::string request_text(uint64_t id, std::string_view method, std::string_view params = {});
// Like request_text(), with the method of another message, as spelled between its quotes.
std::string spelled_request_text(std::string_view id, std::string_view spelled_method,
                                 std::string_view params);
// {"jsonrpc":"2.0","method":"<method>"[,"params":<params>]}; empty params are omitted.
std::string notification_text(std::string_view method, std::string_view params = {});

// {"jsonrpc":"2.0","id":<id>,"result":<result>}
std::string result_text(std::string_view id, std::string_view result);
// {"jsonrpc":"2.0","id":<id>,"error":<error>}; an empty id is written as null (section 5: it could
// not be read).
std::string error_text(std::string_view id, std::string_view error);
// Like error_text(), with the error object of append_error().
std::string error_text(std::string_view id, int code, std::string_view message);
// {"jsonrpc":"2.0","id":<id>,<member>}. `member`: `"result":…` or `"error":…`.
std::string response_text(std::string_view id, std::string_view member);

// KnownMessage: a message that was parsed before, or that the gateway has made, parsed for its
// parts.
//
// A text that cannot be parsed is a defect of the gateway. Limits have been checked before: a
// message that the gateway makes may be deeper than any that it takes, as it holds parts of these.
// Owner: the function that uses it; a value that does not move. A text that is not moved into it
// outlives it. Limit: kMaxDepth.
class KnownMessage {
 public:
  // Far more than limits.depth may be.
  static constexpr size_t kMaxDepth = 2048;

  explicit KnownMessage(std::string& text)
      : parser_({.depth = kMaxDepth, .id = SIZE_MAX, .method = SIZE_MAX}),
        document_(parser_.parse(text)) {
    STDGATE_CHECK(document_ && document_->messages[0].ok());
  }
  explicit KnownMessage(std::string&& text)
      : text_(std::move(text)),
        parser_({.depth = kMaxDepth, .id = SIZE_MAX, .method = SIZE_MAX}),
        document_(parser_.parse(text_)) {
    STDGATE_CHECK(document_ && document_->messages[0].ok());
  }
  KnownMessage(const KnownMessage&) = delete;
  KnownMessage& operator=(const KnownMessage&) = delete;

  [[nodiscard]] const Envelope& envelope() const { return document_->messages[0].envelope; }

 private:
  std::string text_;  // empty: the text is another's
  EnvelopeParser parser_;
  const tl::expected<Document, DocumentError> document_;
};

// --- Messages for peers that omit "jsonrpc" (BackendConfig::envelope)
//
// EnvelopeParser adds the member, so the core has messages with a version only. without_version()
// removes it again.

// The concatenation of `parts`, one valid message or batch, without the member "jsonrpc" of each
// message; all else is kept byte for byte.
std::string without_version(std::span<const std::string_view> parts);

}  // namespace stdgate::rpc
