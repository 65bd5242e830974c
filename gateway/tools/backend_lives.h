// Reports of a running gateway, at its admin address, about its backends: which of them sleep, what
// is remembered of these, how many of their processes have been replaced, and which fail.
#pragma once

#include <map>
#include <string>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

// Texts for people, by the name of the backend, without backends that have nothing to report. Empty
// if the configuration is not known, or nothing answers at its admin address.
std::map<std::string, std::string> backend_lives(const ToolArguments& arguments,
                                                 const ToolSurroundings& surroundings);

}  // namespace stdgate::tools
