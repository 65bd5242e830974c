#include "transports/http/origin_rules.h"

#include <algorithm>

#include "transports/http/field_value.h"
#include "transports/http/url.h"

namespace stdgate {

namespace {

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return lower;
}

bool lists(const std::vector<std::string>& entries, std::string_view text) {
  return std::any_of(entries.begin(), entries.end(), [text](const std::string& entry) {
    return equals_ignoring_case(text, to_lower(entry));
  });
}

// The host of a serialized origin (RFC 6454 section 6.2); empty when it is "null" or no origin.
std::string_view host_of_origin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::string_view authority = origin.substr(scheme + 3);
  return is_authority(authority) ? host_of(authority) : std::string_view();
}

}  // namespace

bool OriginRules::allows_origin(const RequestHead& head, bool loopback_listener) const {
  const bool unrestricted = allowed_origins.empty() && !loopback_listener;
  for (const HeaderField& field : head.fields()) {
    if (!equals_ignoring_case(field.name, "origin")) continue;
    if (field.value.size() > kOriginLimit) return false;
    if (!unrestricted && !names(field.value)) return false;
  }
  return true;
}

bool OriginRules::names(std::string_view origin) const {
  if (origin.size() > kOriginLimit) return false;
  return lists(allowed_origins, "*") || lists(allowed_origins, origin) ||
         is_loopback_host(host_of_origin(origin));
}

bool OriginRules::allows_host(const RequestHead& head, bool loopback_listener) const {
  if (!loopback_listener) return true;
  const std::string_view host = host_of(head.authority());
  return is_loopback_host(host) || lists(allowed_hosts, head.authority()) ||
         lists(allowed_hosts, host);
}

}  // namespace stdgate
