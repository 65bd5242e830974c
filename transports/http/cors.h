// What pages of other origins may read and send: Cross-Origin Resource Sharing (WHATWG Fetch,
// section 3.2). Pure functions; OriginRules decides who may call.
//
// Credentials are never allowed: a page brings its own token, or none.
#pragma once

#include <string>
#include <string_view>

#include "transports/http/origin_rules.h"
#include "transports/http/request_head.h"

namespace stdgate::http {

// The origin whose pages may read the answer: the request's, if it is a loopback or a listed one.
// Empty otherwise, and always where nothing is listed and the connection is not over loopback.
std::string_view cors_origin(const RequestHead& head, const OriginRules& rules,
                             const ConnectionTraits& traits);

// A browser asks before a page's request is sent (section 3.2.2).
bool is_preflight(const RequestHead& head);

// Header lines for every answer to `origin`; none if it is empty.
void append_cors_fields(std::string& out, std::string_view origin);
// Beside them, for the preflight `head`; `methods` as Allow has them. Header fields that repeat
// arguments of MCP's tools have names of the tools' own: those are allowed that are asked for.
void append_preflight_fields(std::string& out, std::string_view methods, const RequestHead& head);

}  // namespace stdgate::http
