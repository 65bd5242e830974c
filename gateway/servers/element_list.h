// ElementList: what a member offers of one kind (tools, prompts, resources, templates), as a
// virtual server shows it.
//
// Made from the pages of the member's own list: elements are cut out of the received bytes, and get
// other names where the configuration says so. Owner: a view of a member. Limits: kMaxElements,
// kMaxBytes; further elements are left out, with a finding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/call/protocol.h"
#include "gateway/config/config.h"

namespace stdgate::servers {

// The lists that members are asked for. The greeting tells what a member can do.
enum class ListKind : uint8_t { tools, prompts, resources, templates, greeting };
inline constexpr std::array kListed = {ListKind::tools, ListKind::prompts, ListKind::resources,
                                       ListKind::templates};
inline constexpr size_t kListKinds = static_cast<size_t>(ListKind::greeting) + 1;

struct ListFacts {
  std::string_view method;
  uint8_t change;  // bit of mcp::kMcpLists that tells of changes
};
const ListFacts& facts_of(ListKind kind);
// Whether a greeting says that the server has no such list. False: no greeting.
bool greeting_lacks(std::string_view greeting, ListKind kind);
// The places of elements and their names in a result. The greeting has none.
const call::ListShape& shape_of(ListKind kind);

// Whether a member's patterns let clients have a resource. As in rules, they fit only URIs in
// normal form (policy::is_plain_uri()): another spelling could be read as what is left out.
bool selects_uri(const config::SelectionConfig& selection, std::string_view uri);
// Whether `exclude` hides a linked URI. `include` need not name linked URIs.
bool excludes_uri(const config::SelectionConfig& selection, std::string_view uri);

struct Element {
  std::string own;    // its name or URI at the member, decoded
  std::string shown;  // the same as clients see it
  std::string text;   // raw JSON, as clients see it
};

// A remark on an element, for the log.
struct Finding {
  std::string element;
  std::string what;
};

class ElementList {
 public:
  static constexpr size_t kMaxElements = 10000;
  static constexpr size_t kMaxBytes = 32 << 20;

  // One page of the member's answers, the result as raw JSON.
  void add_page(ListKind kind, std::string_view result, const config::MemberConfig& member,
                std::vector<Finding>& findings);

  [[nodiscard]] const std::vector<Element>& all() const { return elements_; }
  // The element that clients see under this name; null: none.
  [[nodiscard]] const Element* find(std::string_view shown) const;
  // URIs that elements name besides their own: of user interfaces (MCP Apps).
  [[nodiscard]] bool names_uri(std::string_view uri) const;
  // Tells whether two lists show the same.
  [[nodiscard]] uint64_t digest() const { return digest_; }
  // An estimate of the memory that the list takes.
  [[nodiscard]] size_t bytes() const { return bytes_ + elements_.size() * kOfElement; }
  // The list without elements.
  static const std::shared_ptr<const ElementList>& none();

 private:
  static constexpr size_t kOfElement = 3 * sizeof(std::string) + 64;  // and its place by name

  void add(ListKind kind, std::string_view element, const config::MemberConfig& member,
           std::vector<Finding>& findings);
  void note_uris(std::string_view element);

  std::vector<Element> elements_;
  // Finds texts by views of them.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  // Keys are the names that clients see.
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places_;
  std::unordered_map<std::string, bool> uris_;
  uint64_t digest_ = 0;
  size_t bytes_ = 0;
};

}  // namespace stdgate::servers
