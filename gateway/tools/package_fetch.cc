#include "gateway/tools/package_fetch.h"

#include <filesystem>
#include <system_error>

#include "gateway/config/package_run.h"
#include "gateway/config/secret.h"
#include "gateway/tools/tool.h"

namespace stdgate::tools {

namespace {

bool is_installed(const std::string& package, const std::string& cwd) {
  if (package.empty()) return false;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(cwd, error);
  if (cwd.empty()) folder = std::filesystem::current_path(error);
  for (;; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / "node_modules" / package, error)) return true;
    if (folder == folder.parent_path()) return false;
  }
}

}  // namespace

std::string PackageFetch::text() const {
  return runner + " fetches " + package + " before it starts it";
}

std::string PackageFetch::advice() const {
  return "run it once by hand until it waits for input (" + by_hand +
         "), or give it longer: stdgate doctor --timeout 5m";
}

std::optional<PackageFetch> package_fetch_of(const config::BackendConfig& backend) {
  const auto run = config::package_run_of(backend.command);
  if (!run || !run->fetches || is_installed(run->package, backend.cwd)) return std::nullopt;
  return PackageFetch{run->runner, run->package.empty() ? "its package" : run->package,
                      joined(config::hide_secret_arguments(backend.command), " ")};
}

}  // namespace stdgate::tools
