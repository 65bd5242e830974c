// `stdgate snippet`: what to paste into a client to reach the backends of a gateway.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kSnippetTool;

}  // namespace stdgate::tools
