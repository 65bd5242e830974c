// KnownMessage: a message that was parsed before, or that the gateway has made, parsed for its
// parts.
//
// That it cannot be parsed is a defect here: it has no limits, so the parts of others that it is
// made of are good if they were so before. Owner: whoever acts on it; a value, which stays where it
// is. `text` outlives it.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/base/check.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::rpc {

class KnownMessage {
 public:
  // Texts that are made of parts of others nest deeper than these were allowed to.
  static constexpr size_t kDepth = 2048;

  explicit KnownMessage(std::string& text) : parser_(kLimits), document_(parser_.parse(text)) {
    STDGATE_CHECK(document_ && document_->messages[0].ok());
  }
  KnownMessage(const KnownMessage&) = delete;
  KnownMessage& operator=(const KnownMessage&) = delete;

  [[nodiscard]] const Envelope& envelope() const { return document_->messages[0].envelope; }

 private:
  static constexpr EnvelopeLimits kLimits{
      .depth = kDepth, .batch = 1, .id = SIZE_MAX, .method = SIZE_MAX};

  EnvelopeParser parser_;
  const tl::expected<Document, DocumentError> document_;
};

}  // namespace stdgate::rpc
