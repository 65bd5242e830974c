// ToolLock: the definitions of a server's tools, prompts and templates that are pinned, as a lock
// file has them.
//
// Definitions are compared as canonical JSON (RFC 8785), all members of them. The digests in the
// file are for people and for other programs. Owner: the reader of the file. Limits: the limits of
// a configuration's file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "gateway/observer.h"

namespace stdgate::mcp {

enum class PinnedKind : uint8_t { tool, prompt, resource_template };
inline constexpr size_t kPinnedKinds = static_cast<size_t>(PinnedKind::resource_template) + 1;

// A kind of pinned elements, as messages, the lock file and people call it.
struct PinnedList {
  PinnedKind kind;
  std::string_view method;  // that lists them
  std::string_view change;  // the notification of a change
  std::string_view member;  // of the result, and of a server in the lock file
  std::string_view name;    // of an element
  std::string_view singular;
};
inline constexpr std::array<PinnedList, kPinnedKinds> kPinnedLists = {
    {{PinnedKind::tool, "tools/list", "notifications/tools/list_changed", "tools", "name", "tool"},
     {PinnedKind::prompt, "prompts/list", "notifications/prompts/list_changed", "prompts", "name",
      "prompt"},
     {PinnedKind::resource_template, "resources/templates/list",
      "notifications/resources/list_changed", "resourceTemplates", "uriTemplate", "template"}}};

class ToolLock {
 public:
  using Definitions = std::map<std::string, std::string, std::less<>>;  // canonical, by name

  // The pins of one server in a lock file; an empty text has none. The error says what is wrong.
  static tl::expected<ToolLock, std::string> read(std::string_view text, std::string_view server);
  // The pins of all servers, by name.
  static tl::expected<std::map<std::string, ToolLock>, std::string> read_all(std::string_view text);

  [[nodiscard]] const Definitions& of(PinnedKind kind) const {
    return definitions_[static_cast<size_t>(kind)];
  }
  Definitions& of(PinnedKind kind) { return definitions_[static_cast<size_t>(kind)]; }
  [[nodiscard]] bool has(PinnedKind kind, std::string_view name) const {
    return of(kind).contains(name);
  }
  // The state of an element as a server lists it, raw JSON.
  [[nodiscard]] PinState state_of(PinnedKind kind, std::string_view name,
                                  std::string_view element) const;
  [[nodiscard]] bool empty() const;

 private:
  std::array<Definitions, kPinnedKinds> definitions_;
};

}  // namespace stdgate::mcp
