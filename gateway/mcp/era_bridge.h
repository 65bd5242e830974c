// What a child of one era answers, as a client of the other one expects it (MCP 2026-07-28 against
// 2025-11-25). Pure; the only place that knows both forms of a result.
//
// Each function appends the member `"result":…` or `"error":…` to `out`; false: what the child has
// answered may stay as it is.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// A legacy child's answer. `method` is decoded; what answers server/discover is what the child
// answered to initialize.
bool bridge_to_modern(const rpc::Envelope& answer, std::string_view method, std::string& out);
// A modern child's answer; what answers initialize, whose params are the greeting, is what the
// child answered to server/discover.
bool bridge_to_legacy(const rpc::Envelope& answer, std::string_view method,
                      std::string_view greeting, std::string& out);

// The error object for a modern request of a revision that is not served. `requested` is decoded.
// It names the modern revision, or the legacy ones where only these are served.
std::string unsupported_version_error(std::string_view requested, bool is_modern);

// --- Streams of subscriptions/listen. `id` is the request's, raw JSON
// The member result that ends one.
std::string listening_end(std::string_view id);
// The notification that begins one: which lists' changes, and updates of which resources, follow.
std::string listening_acknowledgement(std::string_view id, uint8_t lists,
                                      std::span<const std::string> uris);
// Of which lists' changes such a request wants to hear.
uint8_t listened_lists(const rpc::Envelope& request);
// The request of the gateway for a session, whose client is named by `stamp`, members of _meta.
std::string listen_request(std::string_view stamp, bool lists,
                           const std::set<std::string, std::less<>>& uris);
// The member of _meta that each of its messages has.
std::string subscription_tag(std::string_view id);

}  // namespace stdgate::mcp
