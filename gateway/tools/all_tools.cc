// The table of the tools.
#include <array>

#include "gateway/tools/add_tool.h"
#include "gateway/tools/call_tools.h"
#include "gateway/tools/completion_tool.h"
#include "gateway/tools/connect_tool.h"
#include "gateway/tools/doctor_tool.h"
#include "gateway/tools/install_tool.h"
#include "gateway/tools/ls_tool.h"
#include "gateway/tools/man_tool.h"
#include "gateway/tools/snippet_tool.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

std::span<const Tool> all_tools() {
  static const std::array kTools{kDoctorTool,  kLsTool,  kToolsTool,      kCallTool, kConnectTool,
                                 kSnippetTool, kAddTool, kCompletionTool, kManTool,  kInstallTool};
  return kTools;
}

}  // namespace stdgate::tools
