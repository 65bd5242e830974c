// The messages that cases are made of: requests of `echo`, so big.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::bench {

inline std::string echo_params(size_t size, std::string_view filling = "x") {
  std::string text = R"({"text":")";
  while (text.size() + filling.size() + 2 <= size) text += filling;
  return text + R"("})";
}

inline std::string echo_request(std::string_view params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"echo","params":)" + std::string(params) + '}';
}

// A request of `size` bytes. `filling` is what its text repeats.
inline std::string echo_request_of(size_t size, std::string_view filling = "x") {
  return echo_request(echo_params(size - echo_request("").size(), filling));
}

}  // namespace stdgate::bench
