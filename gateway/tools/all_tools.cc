// The table of the tools.
#include <array>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

std::span<const Tool> all_tools() {
<<<<<<< HEAD
  static const std::array kTools{kDoctorTool,     kLsTool,      kToolsTool,       kCallTool,
                                 kConnectTool,    kSnippetTool, kAddTool,         kAdoptTool,
                                 kCompletionTool, kManTool,     kUserInstallTool, kInstallTool};
=======
  static const std::array kTools{kDoctorTool,     kLsTool,      kToolsTool,  kCallTool,
                                 kConnectTool,    kSnippetTool, kAddTool,    kPinTool,
                                 kCompletionTool, kManTool,     kInstallTool};
>>>>>>> checks
  return kTools;
}

}  // namespace stdgate::tools
