// `stdgate man`: the manual page, made from what --help says.
#pragma once

#include <string>
#include <string_view>

#include "gateway/tools/command_grammar.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kManTool;

// In roff, with the macros of man(7). `version`: of stdgate.
std::string manual_page(const Grammar& grammar, std::string_view version);

}  // namespace stdgate::tools
