#include <string_view>

#include "gateway/app/command_line.h"

namespace stdgate::app {

std::string version_text() {
  const std::string_view commit = STDGATE_COMMIT;
  std::string text = "stdgate " STDGATE_VERSION " (";
  if (!commit.empty()) text.append("commit ").append(commit).append(", ");
  return text.append(STDGATE_PLATFORM).append(")\n");
}

}  // namespace stdgate::app
