// `stdgate snippet`: what to paste into a client to reach the backends of a gateway.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/tools/peer.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kSnippetTool;

// The clients, as they are named on the command line.
std::vector<std::string_view> snippet_clients();

// Empty: no such client. `with_key`: the gateway wants an API key, whose place is marked.
std::string snippet_for(std::string_view client, const std::vector<PeerBackend>& backends,
                        bool with_key);

}  // namespace stdgate::tools
