// Fuzz target: any text is a lock file, or is refused with a reason. The elements in a lock file
// are pinned.
#include <string>

#include "gateway/mcp/tool_lock.h"
#include "gateway/schema/canonical_json.h"
#include "tests/fuzz/fuzz_target.h"

namespace stdgate::test {
namespace {

void check(std::string_view text) {
  const auto locks = mcp::ToolLock::read_all(text);
  if (!locks) return require(!locks.error().empty(), "what is refused has a reason", text);
  for (const auto& [server, lock] : *locks) {
    for (const mcp::PinnedList& list : mcp::kPinnedLists) {
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
}  // namespace stdgate::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stdgate::test::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
