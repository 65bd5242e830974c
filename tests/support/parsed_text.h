// ParsedText: one message, and the text that its envelope is made of views of.
#pragma once

#include <string>
#include <utility>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::test {

class ParsedText {
 public:
  explicit ParsedText(std::string text) : text_(std::move(text)) {
    envelope = parser_.parse(text_).value().messages[0].envelope;
  }
  ParsedText(const ParsedText&) = delete;
  ParsedText& operator=(const ParsedText&) = delete;

  [[nodiscard]] std::string method() const {
    std::string scratch;
    return std::string(rpc::decode_string(envelope.method, scratch));
  }

  rpc::Envelope envelope;

 private:
  std::string text_;
  rpc::EnvelopeParser parser_{rpc::EnvelopeLimits{}};
};

}  // namespace stdgate::test
