// Translations between the eras of MCP (2026-07-28 against 2025-11-25): answers for clients of the
// other era, streams of subscriptions/listen, and members that only modern requests have. Pure.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "gateway/call/insertion.h"
#include "gateway/call/protocol.h"
#include "gateway/mcp/mcp_params.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::mcp {

// --- Answers of children for clients of the other era
//
// No other code knows both forms of a result. Each function appends the member `"result":…` or
// `"error":…` to `out`. False: the child's answer may stay as it is.

// Translates a legacy child's answer. `method` is decoded. For server/discover, the answer is the
// child's answer to initialize.
bool bridge_to_modern(const rpc::Envelope& answer, std::string_view method, std::string& out);
// Translates a modern child's answer. For initialize, the answer is the child's answer to
// server/discover, and `greeting` has the client's params.
bool bridge_to_legacy(const rpc::Envelope& answer, std::string_view method,
                      std::string_view greeting, std::string& out);

// The error for a modern request of a revision that is not served. `requested` is decoded.
// The error names the modern revision, or the legacy revisions where only these are served.
call::Absence unsupported_version(std::string_view requested, bool is_modern);

// The gateway's own request for the page of a list at this cursor, raw; empty: the first page.
// `stamp`: members of _meta.
std::string list_request(std::string_view method, std::string_view cursor, std::string_view stamp);

// --- Streams of subscriptions/listen. `id`: the id of the request, raw JSON

// The member `result` that ends a stream.
std::string listening_end(std::string_view id);
// The notification that begins a stream: it names the lists, resources and tasks whose changes
// follow.
std::string listening_acknowledgement(std::string_view id, uint8_t lists,
                                      std::span<const std::string> uris,
                                      std::span<const std::string> tasks = {});
// The lists whose changes such a request asks for.
uint8_t listened_lists(const rpc::Envelope& request);
// The gateway's request for a session. `stamp`: members of _meta that describe the client.
std::string listen_request(std::string_view stamp, bool lists,
                           const std::set<std::string, std::less<>>& uris);
// The member of _meta that all messages of a stream have.
std::string subscription_tag(std::string_view id);

// --- Members that only modern requests have (MCP 2026-07-28, basic: _meta)
//
// A legacy child would refuse a request with such members, or take it for a request of another
// connection.

// The members to leave out for a legacy child. Members that calls of both eras may have stay:
// progress tokens, traces, members of other vendors. The request has passed check_modern(), so it
// has one _meta.
call::PeerChanges modern_members(const rpc::Envelope& request, MetaMemory& memory);

// A notification of a stream of subscriptions/listen without its tag; empty: the notification is
// about the stream itself.
std::string untagged(const rpc::Envelope& notification);

// The members of _meta for requests of a client with this greeting: its name, and what it can be
// asked, in the form of the modern era.
std::string modern_stamp(std::string_view greeting);

// The stamp for requests of the gateway itself, which has no capabilities. See modern_stamp().
std::string stamp_of_gateway(std::string_view name, std::string_view version);

}  // namespace stdgate::mcp
