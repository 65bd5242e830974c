// The table of the tools.
#include <array>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

std::span<const Tool> all_tools() {
  static const std::array kTools{
      kDoctorTool, kLsTool,  kToolsTool,      kCallTool, kConnectTool,     kSnippetTool, kAddTool,
      kAdoptTool,  kPinTool, kCompletionTool, kManTool,  kUserInstallTool, kInstallTool};
  return kTools;
}

}  // namespace stdgate::tools
