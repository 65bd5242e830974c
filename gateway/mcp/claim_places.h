// Where claims stand in messages of MCP. A claim is a text that a server gives a client to be
// brought back: the state of a call that wants input (2026-07-28, basic/patterns/mrtr), the id of a
// task (the extension io.modelcontextprotocol/tasks), the cursor of a list (server/utilities:
// pagination). Pure; takes time linear in the length of the text, which has been validated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stdgate::mcp {

enum class ClaimKind : uint8_t { state, task, cursor };

struct Claim {
  ClaimKind kind = ClaimKind::state;
  std::string_view raw;      // into the searched text: a JSON string; of a client any value
  bool is_listened = false;  // a task whose changes the request listens for
};

inline constexpr std::string_view kListenMethod = "subscriptions/listen";

// Whether requests of this method concern one task, or one page of a list.
inline bool is_about_task(std::string_view method) { return method.starts_with("tasks/"); }
inline bool is_about_list(std::string_view method) { return method.ends_with("/list"); }

// In the order of the text. `method` is decoded; `params` and `payload` are raw JSON.
std::vector<Claim> claims_of_request(std::string_view params, std::string_view method);
std::vector<Claim> claims_of_result(std::string_view payload, std::string_view method);
std::vector<Claim> claims_of_notification(std::string_view params, std::string_view method);

// The members of a result that describe its task, raw; empty: absent.
struct TaskFacts {
  std::string_view id;
  std::string_view status;
  std::string_view ttl_ms;
};
TaskFacts task_facts(std::string_view result);

// A part of a text, and its replacement.
struct TextEdit {
  std::string_view part;  // a view into the text
  std::string with;
};
// `edits`: in the order of their parts.
std::string with_edits(std::string_view text, std::span<const TextEdit> edits);

}  // namespace stdgate::mcp
