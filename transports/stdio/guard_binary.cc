#include "transports/stdio/guard_binary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace stdgate::stdio {

namespace {

// Of the guard's file: lower descriptors are replaced before the guard is executed.
constexpr int kLowestNumber = 10;

// Symbolic links to the program are resolved: the guard lies beside the file itself.
std::string path_beside_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / GuardBinary::kFileName).string();
}

std::string reason(const std::string& path, int error) {
  return "cannot run its guard " + path + ": " + std::strerror(error);
}

}  // namespace

tl::expected<GuardBinary, std::string> GuardBinary::open(const std::string& path) {
  const std::string place = path.empty() ? path_beside_program() : path;
  const net::FileDescriptor found(::open(place.c_str(), O_PATH | O_CLOEXEC));
  if (!found.is_open()) return tl::unexpected(reason(place, errno));
  struct stat status {};
  if (::fstat(found.get(), &status) != 0) return tl::unexpected(reason(place, errno));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(reason(place, EACCES));
  net::FileDescriptor file(::fcntl(found.get(), F_DUPFD_CLOEXEC, kLowestNumber));
  if (!file.is_open()) return tl::unexpected(reason(place, errno));
  GuardBinary binary(std::move(file));
  // By the descriptor: what was found is what will be executed.
  if (::access(binary.path().c_str(), X_OK) != 0) return tl::unexpected(reason(place, errno));
  return binary;
}

std::string GuardBinary::path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

}  // namespace stdgate::stdio
