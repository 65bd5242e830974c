// JSON-RPC messages as texts, spelled as FakeChild and BackendBench spell them, and ParsedText.
#pragma once

#include <string>
#include <utility>

#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_text.h"

namespace stdgate::test {

// --- JSON-RPC messages as texts, spelled as FakeChild and BackendBench spell them

inline std::string request_text(const std::string& id, const std::string& method = "m") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"("})";
}

inline std::string note_text(const std::string& method, const std::string& params = "{}") {
  return R"({"jsonrpc":"2.0","method":")" + method + R"(","params":)" + params + "}";
}

inline std::string result_text(const std::string& id, const std::string& result = "true") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}";
}

inline std::string error_text(const std::string& id, int code, const std::string& message) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":)" + std::to_string(code) +
         R"(,"message":")" + message + "\"}}";
}

// The id of a message that has a numeric id.
inline std::string id_in(const std::string& text) {
  const size_t start = text.find(R"("id":)") + 5;
  return text.substr(start, text.find_first_of(",}", start) - start);
}

// ParsedText: the text of one message, and the envelope that views the text.
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
