// KnownMessage: a message that was parsed before, or that the gateway has made, parsed for its
// parts.
//
// That it cannot be parsed is a defect here. Owner: whoever acts on it; a value, which stays where
// it is. `text` outlives it.
#pragma once

#include <string>

#include "gateway/base/check.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::rpc {

class KnownMessage {
 public:
  KnownMessage(std::string& text, const EnvelopeLimits& limits)
      : parser_(limits), document_(parser_.parse(text)) {
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
