// `stdgate connect`: a server over the network as a program that a client starts.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kConnectTool;

}  // namespace stdgate::tools
