// `stdgate tools` and `stdgate call`: a look at what a gateway or a command serves, and one call of
// it.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kToolsTool;
extern const Tool kCallTool;

}  // namespace stdgate::tools
