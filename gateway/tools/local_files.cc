#include "gateway/tools/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "transports/net/file_descriptor.h"

namespace stdgate::tools {

namespace {

tl::unexpected<std::string> failed(const std::string& file) {
  return tl::unexpected("cannot write " + file + ": " + std::strerror(errno));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

bool file_exists(const std::string& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file, unreadable);
}

std::string own_program() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).string();
}

tl::expected<void, std::string> replace_file(const std::string& file, const std::string& content) {
  std::error_code absent;
  const std::filesystem::path real = std::filesystem::canonical(file, absent);
  const std::string target = absent ? file : real.string();
  std::string fresh = target + ".XXXXXX";
  const net::FileDescriptor fd(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!fd.is_open()) return failed(file);
  struct stat former {};
  bool is_good = true;
  if (::stat(target.c_str(), &former) == 0) {
    is_good = ::fchmod(fd.get(), former.st_mode & 07777) == 0;
    // Only root may give files away.
    if (::fchown(fd.get(), former.st_uid, former.st_gid) != 0) errno = 0;
  }
  is_good = is_good && write_all(fd.get(), content) && ::fsync(fd.get()) == 0 &&
            ::rename(fresh.c_str(), target.c_str()) == 0;
  if (is_good) return {};
  const auto error = failed(file);
  ::unlink(fresh.c_str());
  return error;
}

tl::expected<void, std::string> make_private_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  if (auto above = make_private_folder_of(folder.string()); !above) return above;
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  return tl::unexpected("cannot make " + folder.string() + ": " + std::strerror(errno));
}

}  // namespace stdgate::tools
