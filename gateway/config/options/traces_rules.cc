// What the keys of `traces` mean together.
#include "gateway/config/options/traces_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "gateway/base/ascii.h"
#include "gateway/base/web_url.h"

namespace stdgate::config {
namespace {

constexpr std::string_view kDefaultPath = "/v1/traces";  // of OTLP over HTTP

// What the gateway says itself of each request.
bool is_own_field(std::string_view name) {
  static constexpr auto kOwn = std::to_array<std::string_view>(
      {"content-type", "content-length", "transfer-encoding", "connection", "expect"});
  return std::ranges::any_of(
      kOwn, [name](std::string_view own) { return equals_ignoring_case(name, own); });
}

bool is_field_value(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

void complete_endpoint(const Section& section, TracesConfig& out) {
  const auto url = WebUrl::parse(out.endpoint);
  if (!url) {
    section.fail("endpoint", "expected a URL, like http://127.0.0.1:4318");
    return;
  }
  if (url->path.empty() || url->path == "/") {
    out.endpoint = std::string(url->origin).append(kDefaultPath).append(url->query);
  }
}

void check_headers(const Section& section, const TracesConfig& out) {
  for (const auto& [name, source] : out.header_sources) {
    if (source.of_principal) section.fail("headers", name + ": spans of all clients go together");
  }
  if (out.headers.size() > kMaxTraceHeaders) {
    section.fail("headers", "at most " + std::to_string(kMaxTraceHeaders) + " of them");
  }
  for (const auto& [name, value] : out.headers) {
    if (is_own_field(name)) section.fail("headers", name + " is said by stdgate itself");
    if (value.size() > kMaxTraceHeader || !is_field_value(value)) {
      section.fail("headers", name + ": expected 1 to " + std::to_string(kMaxTraceHeader) +
                                  " visible ASCII characters");
    }
  }
}

}  // namespace

void complete_traces(const Section& section, TracesConfig& out) {
  if (section.has("endpoint") && !section.failed("endpoint")) complete_endpoint(section, out);
  if (out.service_name.empty() || out.service_name.size() > kMaxServiceName) {
    section.fail("service_name", "expected 1 to " + std::to_string(kMaxServiceName) + " bytes");
  }
  if (!section.failed("headers")) check_headers(section, out);
}

}  // namespace stdgate::config
