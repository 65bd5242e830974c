// What a running gateway says at its admin address of the backends: which of them sleep, what is
// remembered of those, and how many of their processes have been replaced.
#pragma once

#include <map>
#include <string>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

// For people, by the name of the backend; without those of which there is nothing to say. Empty
// where the configuration is not known, or nothing answers at its admin address.
std::map<std::string, std::string> backend_lives(const ToolArguments& arguments,
                                                 const ToolSurroundings& surroundings);

// Of one entry of /debug/state, as JSON; for tests.
std::string life_text(const std::string& backend);

}  // namespace stdgate::tools
