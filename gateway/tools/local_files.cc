#include "gateway/tools/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/base/addresses.h"
#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
#include "gateway/tools/gateway_yaml.h"
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

namespace {

namespace fs = std::filesystem;

// For sockets: what systemd makes for each user, else the folder of the gateway's file.
std::string socket_folder(const std::string& file, const config::Environment& variables) {
  std::string named = variables("XDG_RUNTIME_DIR").value_or("");
  if (named.starts_with('/')) return named;
  std::string usual = "/run/user/" + std::to_string(::getuid());
  std::error_code unreadable;
  if (fs::is_directory(usual, unreadable)) return usual;
  return fs::path(file).parent_path().string();
}

std::string new_text(const std::string& folder) {
  return "# The servers of this user's programs. `stdgate adopt` adds to it; the gateway reads it "
         "again when it\n# changes. The programs of other users have no access to these sockets.\n"
         "listen: [" +
         yaml_text("unix:" + folder + "/stdgate.sock") +
         "]\n"
         "admin: " +
         yaml_text("unix:" + folder + "/stdgate-admin.sock") + "\nwatch: true\n";
}

}  // namespace

std::string config_home(const config::Environment& variables) {
  std::string named = variables("XDG_CONFIG_HOME").value_or("");
  // A relative one is invalid (XDG Base Directory Specification).
  if (named.starts_with('/')) return named;
  const std::string home = variables("HOME").value_or("");
  return home.empty() ? std::string() : home + "/.config";
}

tl::expected<UserGateway, std::string> read_user_gateway(const std::string& file,
                                                         const config::Environment& variables) {
  UserGateway gateway;
  const std::string home = config_home(variables);
  if (file.empty() && home.empty()) {
    return tl::unexpected<std::string>("HOME is not set; name the gateway's file with --config");
  }
  const std::string named = file.empty() ? home + "/stdgate/gateway.yaml" : file;
  std::error_code error;
  gateway.file = fs::absolute(named, error).lexically_normal().string();
  gateway.is_new = !file_exists(gateway.file);
  const std::string folder = socket_folder(gateway.file, variables);
  if (gateway.is_new) {
    gateway.text = new_text(folder);
  } else {
    auto text = config::read_text_file(gateway.file, config::kMaxConfigFile);
    if (!text) return tl::unexpected(text.error());
    gateway.text = *std::move(text);
  }
  auto config = parse_gateway_text(gateway.text, gateway.file);
  if (!config) return tl::unexpected(gateway.file + " has mistakes:" + config.error());
  gateway.config = *std::move(config);
  for (const config::ListenerConfig& listener : gateway.config.listen) {
    const auto address = Address::parse(listener.address);
    if (!address || address->kind != Address::Kind::unix_socket) continue;
    gateway.socket = fs::absolute(address->path, error).lexically_normal().string();
    break;
  }
  if (gateway.socket.empty()) {
    return tl::unexpected(gateway.file + " listens on no Unix socket; add \"unix:" + folder +
                          "/stdgate.sock\" to its listen");
  }
  return gateway;
}

}  // namespace stdgate::tools
