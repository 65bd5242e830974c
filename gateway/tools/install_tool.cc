// `stdgate install-to`: this program and its guard into a folder that another container sees.
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "gateway/tools/file_replacement.h"
#include "gateway/tools/tool.h"
#include "transports/stdio/guard_process.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInstallUsage = "  stdgate install-to DIR\n";
constexpr std::string_view kInstallAbout =
    "Copies stdgate and its guard into DIR, which is made if it is not there. For an\n"
    "init container: the image beside it then runs DIR/stdgate, if it has the shared\n"
    "libraries that `ldd stdgate` lists. What DIR has already is replaced, at once.\n"
    "\n"
    "Exit code: 0 copied, 1 not, 2 usage.\n";
constexpr mode_t kProgramMode = 0755;

// The error is a sentence.
tl::expected<void, std::string> copy_program(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const auto size = fs::file_size(from, error);
  std::string content(error ? 0 : size, '\0');
  std::ifstream in(from, std::ios::binary);
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!in || content.empty()) return tl::unexpected("cannot read " + from.string());
  if (auto written = replace_file(to.string(), content); !written) return written;
  if (::chmod(to.c_str(), kProgramMode) == 0) return {};
  return tl::unexpected("cannot make " + to.string() + " executable: " + std::strerror(errno));
}

ToolOutput install(const ToolArguments& arguments, const ToolSurroundings& /*surroundings*/) {
  if (arguments.words.size() != 1 || arguments.has_command) {
    return tool_error(kBadUsage, "install-to: expected one DIR");
  }
  const fs::path folder = arguments.words.front();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return tool_error(kFailed, "cannot make " + folder.string() + ": " + error.message());
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  // The guard first: a program that is there finds its guard.
  const std::array programs{own.parent_path() / stdio::GuardBinary::kFileName, own};
  const std::array targets{folder / stdio::GuardBinary::kFileName, folder / "stdgate"};
  for (size_t i = 0; i < programs.size(); ++i) {
    if (const auto copied = copy_program(programs[i], targets[i]); !copied) {
      return tool_error(kFailed, copied.error());
    }
  }
  return tool_text("installed in " + folder.string() + ": stdgate-guard stdgate\n");
}

}  // namespace

extern const Tool kInstallTool{"install-to", kInstallUsage, kInstallAbout, {}, false, install};

}  // namespace stdgate::tools
