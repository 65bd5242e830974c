// The messages that cases are made of: requests of `echo`, so big.
#pragma once

#include <string>
#include <string_view>

namespace stdgate::bench {

// Params of at most `size` bytes. `filling` is what their text repeats.
inline std::string echo_params(size_t size, std::string_view filling = "x") {
  constexpr std::string_view kBegin = R"({"text":")";
  constexpr std::string_view kEnd = R"("})";
  std::string text(kBegin);
  text.resize(
      kBegin.size() + (size - kBegin.size() - kEnd.size()) / filling.size() * filling.size(),
      filling[0]);
  if (filling.size() > 1) {
    for (size_t at = kBegin.size(); at < text.size(); at += filling.size()) {
      text.replace(at, filling.size(), filling);
    }
  }
  return text.append(kEnd);
}

inline std::string echo_request(std::string_view params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"echo","params":)" + std::string(params) + '}';
}

// A request of about `size` bytes.
inline std::string echo_request_of(size_t size, std::string_view filling = "x") {
  return echo_request(echo_params(size - echo_request("").size(), filling));
}

}  // namespace stdgate::bench
