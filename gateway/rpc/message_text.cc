#include "gateway/rpc/message_text.h"

#include <initializer_list>

#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_string.h"

namespace stdgate::rpc {

namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string json_string(std::string_view text) {
  std::string written;
  append_json_string(written, text);
  return written;
}

// What precedes params; empty: there are none.
std::string_view params_key(std::string_view params) {
  return params.empty() ? std::string_view() : R"(,"params":)";
}

}  // namespace

std::string request_text(std::string_view id, std::string_view method, std::string_view params) {
  return joined(
      {kIdHead, id, R"(,"method":)", json_string(method), params_key(params), params, "}"});
}

std::string request_text(uint64_t id, std::string_view method, std::string_view params) {
  return request_text(std::to_string(id), method, params);
}

std::string spelled_request_text(std::string_view id, std::string_view spelled_method,
                                 std::string_view params) {
  return joined(
      {kIdHead, id, R"(,"method":")", spelled_method, "\"", params_key(params), params, "}"});
}

std::string notification_text(std::string_view method, std::string_view params) {
  return joined(
      {R"({"jsonrpc":"2.0","method":)", json_string(method), params_key(params), params, "}"});
}

std::string result_text(std::string_view id, std::string_view result) {
  return joined({kIdHead, id, R"(,"result":)", result, "}"});
}

std::string error_text(std::string_view id, std::string_view error) {
  return joined({kIdHead, id.empty() ? "null" : id, R"(,"error":)", error, "}"});
}

std::string error_text(std::string_view id, int code, std::string_view message) {
  std::string error;
  append_error(error, code, message);
  return error_text(id, error);
}

std::string response_text(std::string_view id, std::string_view member) {
  return joined({kIdHead, id, ",", member, "}"});
}

}  // namespace stdgate::rpc
