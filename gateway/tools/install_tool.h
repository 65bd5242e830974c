// `stdgate install-to`: this program and its guard into a folder that another container sees.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kInstallTool;

}  // namespace stdgate::tools
