// JSON-RPC messages as texts, spelled as FakeChild and BackendBench spell them.
#pragma once

#include <string>

namespace stdgate::test {

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

// The id of a message whose id is a number.
inline std::string id_in(const std::string& text) {
  const size_t start = text.find(R"("id":)") + 5;
  return text.substr(start, text.find_first_of(",}", start) - start);
}

}  // namespace stdgate::test
