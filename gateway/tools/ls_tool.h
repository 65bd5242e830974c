// `stdgate ls`: the backends of a running gateway; with --as, what a principal sees of them.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kLsTool;

}  // namespace stdgate::tools
