// KnownMessage: a message that was parsed before, or that the gateway has made, parsed for its
// parts.
//
// A text that cannot be parsed is a defect of the gateway. Limits have been checked before: a
// message that the gateway makes may be deeper than any that it takes, as it holds parts of these.
// Owner: the function that uses it; a value that does not move. `text` outlives it. Limit:
// kMaxDepth.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/base/check.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::rpc {

class KnownMessage {
 public:
  // Far more than limits.depth may be.
  static constexpr size_t kMaxDepth = 2048;

  explicit KnownMessage(std::string& text)
      : parser_({.depth = kMaxDepth, .id = SIZE_MAX, .method = SIZE_MAX}),
        document_(parser_.parse(text)) {
    STDGATE_CHECK(document_ && document_->messages[0].ok());
  }
  KnownMessage(const KnownMessage&) = delete;
  KnownMessage& operator=(const KnownMessage&) = delete;

  [[nodiscard]] const Envelope& envelope() const { return document_->messages[0].envelope; }

 private:
  EnvelopeParser parser_;
  const tl::expected<Document, DocumentError> document_;
};

}  // namespace stdgate::rpc
