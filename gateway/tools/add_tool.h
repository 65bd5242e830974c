// `stdgate add`: a backend into gateway.yaml, or the servers of an MCP client.
#pragma once

#include "gateway/app/command_line.h"
#include "gateway/tools/backend_yaml.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kAddTool;

// The backend of `-- COMMAND` with its options, and with `changes` to them, as lines. `warnings`
// gets what was not written.
BackendLines lines_of(const app::CommandLine& command_line, std::vector<std::string>& warnings,
                      const std::vector<BackendSetting>& changes = {});

}  // namespace stdgate::tools
