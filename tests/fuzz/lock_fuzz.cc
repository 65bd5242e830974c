// Fuzz target: any text is a lock file, or is refused with a reason. The elements in a lock file
// are pinned.
#include <string>

#include "gateway/mcp/tool_lock.h"
#include "gateway/schema/canonical_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test::lock_fuzz {
namespace {

void check(std::string_view text) {
  const auto locks = mcp::ToolLock::read_all(text);
  if (!locks) return require(!locks.error().empty(), "what is refused has a reason", text);
  for (const auto& [server, lock] : *locks) {
    for (const mcp::McpListing& list : mcp::kPinnedLists) {
      for (const auto& [name, definition] : lock.of(list.kind)) {
        require(schema::canonical_json(definition) == definition, "a pin is canonical", text);
        require(lock.state_of(list.kind, name, definition) == PinState::pinned, "it is pinned",
                text);
        require(lock.state_of(list.kind, name, "[" + definition + "]") == PinState::changed,
                "another thing has changed", text);
      }
    }
  }
}

}  // namespace

void run(std::string_view input) { check(input); }

}  // namespace stdgate::test::lock_fuzz
