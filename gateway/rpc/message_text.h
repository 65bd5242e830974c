// The JSON-RPC 2.0 messages that the gateway makes itself, as texts without spaces.
//
// Members stand in the order of the shapes below. `id`, `params`, `result` and `error` are valid
// JSON and are copied as they are; the caller vouches for them. `method` is a text and is escaped.
// Messages of peers are not made anew: they are passed on with edits (gateway/call/splice.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stdgate::rpc {

// The begin of each message with an id, for responses that are written in parts.
inline constexpr std::string_view kIdHead = R"({"jsonrpc":"2.0","id":)";

// {"jsonrpc":"2.0","id":<id>,"method":"<method>"[,"params":<params>]}; empty params are omitted.
std::string request_text(std::string_view id, std::string_view method,
                         std::string_view params = {});
std::string request_text(uint64_t id, std::string_view method, std::string_view params = {});
// The same with the method of another message, as spelled between its quotes.
std::string spelled_request_text(std::string_view id, std::string_view spelled_method,
                                 std::string_view params);
// {"jsonrpc":"2.0","method":"<method>"[,"params":<params>]}; empty params are omitted.
std::string notification_text(std::string_view method, std::string_view params = {});

// {"jsonrpc":"2.0","id":<id>,"result":<result>}
std::string result_text(std::string_view id, std::string_view result);
// {"jsonrpc":"2.0","id":<id>,"error":<error>}; an empty id is written as null (section 5: it could
// not be read).
std::string error_text(std::string_view id, std::string_view error);
// The same with the error object of append_error().
std::string error_text(std::string_view id, int code, std::string_view message);
// {"jsonrpc":"2.0","id":<id>,<member>}. `member`: `"result":…` or `"error":…`.
std::string response_text(std::string_view id, std::string_view member);

}  // namespace stdgate::rpc
