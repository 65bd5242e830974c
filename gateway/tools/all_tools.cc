// The table of the tools. Those that ask a peer are in peer_tools.cc, each other one in the source
// of its name.
#include <array>

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kDoctorTool, kLsTool, kToolsTool, kCallTool, kConnectTool, kSnippetTool, kAddTool,
    kAdoptTool, kPinTool, kCompletionTool, kManTool, kUserInstallTool, kInstallTool;

std::span<const Tool> all_tools() {
  static const std::array kTools{
      kDoctorTool, kLsTool,  kToolsTool,      kCallTool, kConnectTool,     kSnippetTool, kAddTool,
      kAdoptTool,  kPinTool, kCompletionTool, kManTool,  kUserInstallTool, kInstallTool};
  return kTools;
}

}  // namespace stdgate::tools
