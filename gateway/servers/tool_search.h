// Tools of members as clients of a virtual server see them: which tools fit some words, and how
// names, descriptions and arguments are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gateway/config/config.h"
#include "gateway/servers/element_list.h"

namespace stdgate::servers {

// The two tools that stand for all others.
inline constexpr std::string_view kFindTool = "find_tool";
inline constexpr std::string_view kCallTool = "call_tool";
// Their definitions in lists, raw JSON.
std::string_view find_tool_text();
std::string_view call_tool_text();

// ToolSearch: which tools fit some words best (BM25 over their names, titles, descriptions and the
// names of their arguments).
//
// One index for all clients has every tool that any client was offered. A client finds only tools
// that it may use. Lists that are in it are not read again. Owner: ServerAnswers. Limits:
// kMaxTools, beyond which the index starts again with the tools of the present client; kMaxText of
// one tool; kMaxQuery words.
class ToolSearch {
 public:
  static constexpr size_t kMaxQuery = 64;
  static constexpr size_t kMaxTools = 50'000;
  // Bytes of a tool's name, title, description and names of arguments, in this order, that count.
  static constexpr size_t kMaxText = 4096;

  // A tool as it has been offered.
  struct Tool {
    std::string name;
    uint64_t version = 0;  // of its text
  };

  // A tool, raw JSON, under its name.
  void add(const std::string& name, std::string_view tool);
  // Has the tools of these lists too.
  void cover(std::span<const ElementList* const> lists);
  // Best first. Some may not be offered any more.
  [[nodiscard]] std::vector<const Tool*> find(std::string_view query) const;
  static uint64_t version_of(std::string_view tool) { return std::hash<std::string_view>()(tool); }
  // An estimate of the memory that is kept.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Posting {
    size_t tool;
    double weight;  // how often, names counting more
  };

  std::unordered_set<uint64_t> covered_;   // digests of lists
  std::unordered_set<uint64_t> versions_;  // of tools, with their names
  size_t bytes_ = 0;
  std::vector<Tool> tools_;
  std::vector<double> lengths_;
  double total_length_ = 0;
  std::unordered_map<std::string, std::vector<Posting>> words_;
};

// --- A member's elements as a virtual server shows them: names, descriptions, arguments
//
// Pure.

// The name of a tool, as interfaces of language models take it: at most config::kMaxShownName
// characters of [A-Za-z0-9_-]. Another name is cut, and gets a hash of itself at the end. The
// result is the same each time.
std::string shown_tool_name(std::string_view prefix, std::string_view name);

// Whether a member with this prefix may show an element under this name.
bool may_be_of(std::string_view prefix, std::string_view shown);

// The tool's name after `tools.rename`, without the prefix.
std::string_view renamed(const config::MemberToolsConfig& tools, std::string_view own);

// Whether clients may take a tool: its schema is one (MCP, schema, Tool). An error is a constant
// phrase.
tl::expected<void, const char*> check_tool(std::string_view tool);

// An element (raw JSON) under this name. `name` is its renamed one, without the prefix: what the
// keys of `tools` are.
std::string tool_as_shown(std::string_view tool, std::string_view shown, std::string_view name,
                          const config::MemberToolsConfig& tools);
std::string prompt_as_shown(std::string_view prompt, std::string_view shown);

// The arguments of a call (raw JSON; empty: none) as the member gets them.
std::string arguments_for_member(std::string_view arguments, std::string_view name,
                                 const config::MemberToolsConfig& tools);
// Whether the member may get other arguments than the client sent.
bool has_arguments_for(std::string_view name, const config::MemberToolsConfig& tools);
// An argument of `fix` or `defaults` that the tool does not have; empty: it has all.
std::string missing_argument(std::string_view tool, std::string_view name,
                             const config::MemberToolsConfig& tools);

}  // namespace stdgate::servers
