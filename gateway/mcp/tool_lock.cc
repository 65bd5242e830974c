#include "gateway/mcp/tool_lock.h"

#include <algorithm>

#include "gateway/schema/canonical_json.h"
#include "gateway/schema/json_tree.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::mcp {

namespace {

using schema::JsonKind;
using schema::JsonTree;
using schema::ValueId;

// The members of an object: visit(key, value). False: it is none.
template <class Visit>
bool for_members(const JsonTree& tree, ValueId object, Visit&& visit) {
  if (tree.kind(object) != JsonKind::object) return false;
  std::string scratch;
  for (ValueId key = object + 1; key < tree.next(object); key = tree.next(key + 1)) {
    if (!visit(std::string(tree.string(key, scratch)), key + 1)) return false;
  }
  return true;
}

// `place`: a JSON pointer to what is read.
bool read_server(const JsonTree& tree, ValueId server, ToolLock& lock, std::string& place) {
  const size_t of_server = place.size();
  return for_members(tree, server, [&](const std::string& member, ValueId elements) {
    place.resize(of_server);
    schema::append_pointer(place, member);
    const size_t of_list = place.size();
    const auto* const list = std::ranges::find(kPinnedLists, member, &McpListing::member);
    if (list == kPinnedLists.end()) return false;
    return for_members(tree, elements, [&](const std::string& name, ValueId pin) {
      place.resize(of_list);
      schema::append_pointer(place, name);
      const auto definition = tree.find(pin, "definition");
      if (!definition) return false;
      auto text = schema::canonical_json(tree.raw(*definition));
      if (!text) return false;
      lock.of(list->kind).insert_or_assign(name, *std::move(text));
      return true;
    });
  });
}

}  // namespace

tl::expected<std::map<std::string, ToolLock>, std::string> ToolLock::read_all(
    std::string_view text) {
  std::map<std::string, ToolLock> locks;
  if (text.empty()) return locks;
  const auto bad = [](std::string what) { return tl::unexpected(std::move(what)); };
  if (!schema::is_json(std::string(text))) return bad("it is no JSON");
  JsonTree tree;
  if (!tree.read(text)) return bad("it has too many values");
  if (find_duplicate_key(tree)) return bad("it has a key twice");
  const auto version = tree.find(0, "version");
  if (!version || tree.raw(*version) != "1") return bad("it is of no version that is known");
  const auto servers = tree.find(0, "servers");
  std::string place = "/servers";
  const bool is_read =
      servers && for_members(tree, *servers, [&](const std::string& name, ValueId server) {
        place = "/servers";
        schema::append_pointer(place, name);
        return read_server(tree, server, locks[name], place);
      });
  if (!is_read) return bad("it is not as stdgate pin writes it at " + place);
  return locks;
}

tl::expected<ToolLock, std::string> ToolLock::read(std::string_view text, std::string_view server) {
  auto all = read_all(text);
  if (!all) return tl::unexpected(std::move(all.error()));
  const auto found = all->find(std::string(server));
  return found == all->end() ? ToolLock() : std::move(found->second);
}

PinState ToolLock::state_of(McpListKind kind, std::string_view name,
                            std::string_view element) const {
  const auto pin = of(kind).find(name);
  if (pin == of(kind).end()) return PinState::fresh;
  const auto text = schema::canonical_json(element);
  return text && *text == pin->second ? PinState::pinned : PinState::changed;
}

bool ToolLock::empty() const {
  return std::ranges::all_of(definitions_, [](const Definitions& some) { return some.empty(); });
}

}  // namespace stdgate::mcp
