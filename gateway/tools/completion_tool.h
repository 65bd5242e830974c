// `stdgate completion`: scripts with which shells complete stdgate's command line.
#pragma once

#include <string>

#include "gateway/tools/command_grammar.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kCompletionTool;

std::string bash_completion(const Grammar& grammar);
std::string zsh_completion(const Grammar& grammar);
std::string fish_completion(const Grammar& grammar);

}  // namespace stdgate::tools
