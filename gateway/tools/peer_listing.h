// Lists of a Peer, page by page, and how responses and entries are shown.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/tools/mcp_listing.h"
#include "gateway/tools/peer.h"
#include "gateway/tools/principal_view.h"

namespace stdgate::tools {

// The parts of a response; views of its text.
struct Response {
  bool is_error = false;
  std::string_view payload;
};
tl::expected<Response, Trouble> read_response(std::string_view text);

// "error -32601: Method not found", with its data.
std::string error_text(std::string_view error);

// All pages, kMaxPages of them. `view`: what of it somebody sees; null: all that the peer answers.
tl::expected<std::vector<ListEntry>, Trouble> read_list(Peer& peer, const std::string& backend,
                                                        const ListKind& kind, PrincipalView* view);

// The same of several backends, which are asked at once; the results are in their order.
std::vector<tl::expected<std::vector<ListEntry>, Trouble>> read_lists(
    Peer& peer, const std::vector<std::string>& backends, const ListKind& kind);

ToolOutput failure(const Trouble& trouble);
// `text` and at least two spaces.
std::string padded(std::string text, size_t width);
// The first line of a description, cut.
std::string first_line(std::string_view text);

}  // namespace stdgate::tools
