// What an MCP server offers, page by page: the requests for its lists, and their answers. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "gateway/rpc/correlator.h"

namespace stdgate::tools {

// One of the lists, which a server offers by the capability of the same name.
struct ListKind {
  std::string_view kind;    // "tools": the capability, and the member of the result
  std::string_view method;  // "tools/list"
  std::string_view name;    // of an entry: the member by which it is used
};
inline constexpr std::array<ListKind, 3> kListKinds{{{"tools", "tools/list", "name"},
                                                     {"resources", "resources/list", "uri"},
                                                     {"prompts", "prompts/list", "name"}}};

struct ListEntry {
  std::string name;
  std::string description;  // may be empty, and may have several lines
};

struct ListPage {
  std::vector<ListEntry> entries;
  std::string next_cursor;  // empty: the last page
};

// A server that gives another cursor with each page is asked for so many.
inline constexpr size_t kMaxPages = 100;

// `stamp`: the members of params._meta that a modern server demands; empty for others.
std::string list_request(rpc::WireId id, std::string_view method, std::string_view cursor = {},
                         std::string_view stamp = {});

// `result`: raw JSON. The error says what is wrong with it.
tl::expected<ListPage, std::string> read_page(std::string_view result, const ListKind& kind);

// Whether capabilities (raw JSON) offer a list.
bool offers(std::string_view capabilities, const ListKind& kind);

}  // namespace stdgate::tools
