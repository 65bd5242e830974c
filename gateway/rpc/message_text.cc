#include "gateway/rpc/message_text.h"

#include <initializer_list>

#include "gateway/rpc/fault.h"
#include "gateway/rpc/json_reader.h"
#include "gateway/rpc/json_text.h"

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

// The text that precedes params; empty: no params.
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

namespace {

constexpr std::string_view kKey = "jsonrpc";

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Takes an object, and appends what stands between `kept` and its end but for the member; `kept` is
// where to go on.
void pass_object(JsonCursor& cursor, const char*& kept, std::string& out) {
  if (!cursor.take('{') || cursor.take('}')) return;
  const char* end_of_last = nullptr;  // of the member before; null: there is none
  for (;;) {
    const char* const begin = cursor.position();
    const std::string_view quoted = cursor.take_string();
    cursor.take(':');
    const std::string_view value = cursor.take_value();
    const char* const end = value.data() + value.size();
    const bool is_version = json_string_equals(quoted.substr(1, quoted.size() - 2), kKey);
    const bool goes_on = cursor.take(',');
    if (!is_version) {
      end_of_last = end;
    } else if (end_of_last != nullptr) {  // with the comma before it
      out.append(between(kept, end_of_last));
      kept = end;
    } else {  // with the comma behind it
      out.append(between(kept, begin));
      kept = goes_on ? cursor.position() : end;
    }
    if (!goes_on) break;
  }
  cursor.take('}');
}

}  // namespace

std::string without_version(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  std::string out;
  out.reserve(text.size());
  JsonCursor cursor(text);
  const char* kept = text.data();
  cursor.skip_space();
  if (cursor.take('[')) {
    do {
      pass_object(cursor, kept, out);
    } while (cursor.take(','));
  } else {
    pass_object(cursor, kept, out);
  }
  out.append(between(kept, text.data() + text.size()));
  return out;
}

}  // namespace stdgate::rpc
