// AllowedMethods: which methods an endpoint takes (RFC 9110 section 9). Only POST comes with a
// body.
#pragma once

#include <cstdint>
#include <string_view>

#include "transports/http/request_head.h"

namespace stdgate::http {

enum class AllowedMethods : uint8_t {
  read,     // GET and HEAD
  post,     // POST
  session,  // GET, POST and DELETE
};

// OPTIONS, which is always answered, is not among them.
bool is_allowed(Method method, AllowedMethods allowed);
// "POST": the methods that do something, for people.
std::string_view methods_of(AllowedMethods allowed);
// "POST, OPTIONS": the value of Allow (RFC 9110 section 10.2.1).
std::string_view allow_value(AllowedMethods allowed);
// Of the server as a whole, for OPTIONS *.
inline constexpr std::string_view kAllowAll = "GET, HEAD, POST, DELETE, OPTIONS";

}  // namespace stdgate::http
