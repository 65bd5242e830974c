#include "transports/http/cors.h"

#include "gateway/mcp/param_headers.h"
#include "transports/http/field_value.h"
#include "transports/http/response.h"

namespace stdgate::http {

namespace {

constexpr std::string_view kMaxAge = "\r\nAccess-Control-Max-Age: 600\r\n";

}  // namespace

std::string_view cors_origin(const RequestHead& head, const OriginRules& rules,
                             const ConnectionTraits& traits) {
  const bool is_loopback = traits.reach == ConnectionTraits::Reach::loopback;
  if (rules.allowed_origins.empty() && !is_loopback) return {};
  std::string_view origin;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "origin")) continue;
    if (!origin.empty() || !rules.names(field.value)) return {};
    origin = field.value;
  }
  return origin;
}

bool is_preflight(const RequestHead& head) {
  return head.method() == Method::options && head.find("origin") != nullptr &&
         head.find("access-control-request-method") != nullptr;
}

void append_cors_fields(std::string& out, std::string_view origin) {
  if (origin.empty()) return;
  out += "Access-Control-Allow-Origin: ";
  out += origin;
  out +=
      "\r\nVary: Origin\r\n"
      "Access-Control-Expose-Headers: Mcp-Session-Id, MCP-Protocol-Version, Retry-After, "
      "WWW-Authenticate\r\n";
}

void append_preflight_fields(std::string& out, std::string_view methods, const RequestHead& head) {
  out += "Access-Control-Allow-Methods: ";
  out += methods;
  out +=
      "\r\nAccess-Control-Allow-Headers: Content-Type, Accept, Authorization, X-API-Key, "
      "Mcp-Session-Id, "
      "MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name, traceparent, tracestate, "
      "baggage";
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "access-control-request-headers")) continue;
    for_each_element(field.value, ',', [&out](std::string_view name) {
      constexpr std::string_view kPrefix = mcp::kParamPrefix;
      const bool fits = out.size() + name.size() + kMaxAge.size() + 2 <= kMaxFieldBytes;
      if (fits && is_token(name) && equals_ignoring_case(name.substr(0, kPrefix.size()), kPrefix)) {
        out.append(", ").append(name);
      }
    });
  }
  out += kMaxAge;
}

}  // namespace stdgate::http
