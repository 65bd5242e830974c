// BackendLives: what a running gateway's admin address tells of its backends, for people.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

// What a running gateway says of its backends.
struct BackendLives {
  // Texts by the name of the backend, without backends that have nothing to report.
  std::map<std::string, std::string> texts{};
  std::string unknown{};  // why nothing is known, and what to do; empty: it is known
};

// Which backends of `state`, the JSON of /debug/state, fail, start or sleep, which of their lists
// are remembered, how many processes were replaced, and which members of virtual servers are not
// up. Nothing is known of a text that is no such state.
BackendLives lives_in(std::string_view state);

// Like lives_in(), for a running gateway. The arguments name it; its admin address is asked.
BackendLives backend_lives(const ToolArguments& arguments, const ToolSurroundings& surroundings);

}  // namespace stdgate::tools
