// Lists of a Peer, page by page, and how responses and entries are shown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/call/rule_filter.h"
#include "gateway/config/config.h"
#include "gateway/mcp/mcp_revision.h"
#include "gateway/policy/client.h"
#include "gateway/pool/dialect.h"
#include "gateway/rpc/envelope.h"
#include "gateway/rpc/json_text.h"
#include "gateway/tools/peer.h"

namespace stdgate::tools {

// One of the lists, which a server offers by the capability of the same name.
struct ListKind {
  std::string_view kind;    // "tools": the capability, and the member of the result
  std::string_view method;  // "tools/list"
  std::string_view name;    // the member that names an entry
};
constexpr ListKind list_kind(mcp::McpListKind kind) {
  const mcp::McpListing& listing = mcp::listing_of(kind);
  return {listing.member, listing.method, listing.name};
}
inline constexpr std::array kListKinds{list_kind(mcp::McpListKind::tools),
                                       list_kind(mcp::McpListKind::resources),
                                       list_kind(mcp::McpListKind::prompts)};
// The methods of an OpenRPC document.
inline constexpr ListKind kMethods{"methods", call::kDiscover, "name"};

// An element of a list: a tool, a prompt, a resource or a method.
struct ListEntry {
  std::string name;
  std::string description;  // may be empty, and may have several lines
  std::string params{};     // of a method: "(path, mode?)"
};

struct ListPage {
  std::vector<ListEntry> entries;
  std::string next_cursor;           // empty: the last page
  std::vector<std::string> missing;  // members of a virtual server that the list lacks
};

// A server that gives another cursor with each page is asked for so many.
inline constexpr size_t kMaxPages = 100;

// The params of a request for a page. `stamp`: the members of params._meta that a modern server
// demands; empty for others.
std::string page_params(std::string_view cursor, std::string_view stamp = {});

// `result`: raw JSON. The error says what is wrong with it.
tl::expected<ListPage, std::string> read_page(std::string_view result, const ListKind& kind);

// Whether capabilities (raw JSON) offer a list.
bool offers(std::string_view capabilities, const ListKind& kind);

// PrincipalView: what a principal sees of the lists of a backend, by the rules of a configuration.
//
// Judged by call::CallRules, as when the gateway serves. Owner: a tool. Limits: see the response
// that is cut.
class PrincipalView {
 public:
  // `principal`: null for an anonymous client; outlives the view.
  PrincipalView(const config::Config& config, const config::BackendConfig& backend,
                const policy::Principal* principal);
  PrincipalView(const PrincipalView&) = delete;
  PrincipalView& operator=(const PrincipalView&) = delete;

  // Whether the principal may ask for the list of this method, perhaps after it has got a scope for
  // it.
  [[nodiscard]] bool shows_list(std::string_view method);
  // The result in the response to such a request, without what the principal may not see. Valid
  // until the next call.
  std::string_view seen(std::string_view method, std::string response);

 private:
  const policy::Principal* const principal_;
  const std::unique_ptr<pool::Dialect> dialect_;
  call::CallRules rules_;
  rpc::EnvelopeParser parser_;
  std::string text_;
};

// The parts of a response; views of its text.
struct Response {
  bool is_error = false;
  std::string_view payload;
};
tl::expected<Response, Trouble> read_response(std::string_view text);

// Whether an error has this code because the server lacks the method.
bool is_unknown_method(std::string_view code);

// "error -32601: Method not found", with its data.
std::string error_text(std::string_view error);

using Listed = tl::expected<std::vector<ListEntry>, Trouble>;

// Missing members, by the name of their virtual server.
using MissingMembers = std::map<std::string, std::set<std::string>>;

// All pages, kMaxPages of them, of several backends, which are asked at once; the results are in
// their order. `view`: cuts the lists to what a principal sees; null: they stay whole. `missing`
// may be null.
std::vector<Listed> read_lists(Peer& peer, const std::vector<std::string>& backends,
                               const ListKind& kind, PrincipalView* view = nullptr,
                               MissingMembers* missing = nullptr);
Listed read_list(Peer& peer, const std::string& backend, const ListKind& kind, PrincipalView* view);

// `text` and at least two spaces.
std::string padded(std::string text, size_t width);
// The first line of a description, cut.
std::string first_line(std::string_view text);

// A member that is an array of texts.
void write_texts(rpc::JsonWriter& json, std::string_view key,
                 const std::vector<std::string>& texts);

// JSON for people: the same text, one member a line.
//
// `json` is valid. Strings and numbers stay as they are spelled, so that nothing is rounded;
// control characters that a terminal could mind are escaped already, as JSON has none, but others
// are made visible.
std::string laid_out(std::string_view json);

}  // namespace stdgate::tools
