#include "transports/net/systemd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "transports/net/listener.h"

namespace stdgate::net {

namespace {

// Removes the variable; empty: it was not there.
std::string take_variable(std::map<std::string, std::string>& environment, const char* name) {
  ::unsetenv(name);
  auto found = environment.extract(name);
  return found.empty() ? std::string() : std::move(found.mapped());
}

// Nothing unless it is a number of digits alone.
tl::expected<size_t, std::string> number_of(std::string_view variable, std::string_view text) {
  size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  return tl::unexpected(std::string(variable) + ": expected a number, found '" + std::string(text) +
                        "'");
}

int option_of(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

tl::expected<Address, std::string> address_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return tl::unexpected<std::string>("is no socket");
  }
  if (option_of(fd, SO_TYPE) != SOCK_STREAM || option_of(fd, SO_ACCEPTCONN) != 1) {
    return tl::unexpected<std::string>(
        "does not listen for streams; a socket unit needs ListenStream= and Accept=no");
  }
  if (storage.ss_family == AF_UNIX) {
    const auto* const un = reinterpret_cast<const sockaddr_un*>(&storage);
    const size_t path_size = size - offsetof(sockaddr_un, sun_path);
    const std::string_view path(un->sun_path, std::min(path_size, sizeof(un->sun_path)));
    if (path.empty() || path.front() == '\0') {
      return tl::unexpected<std::string>("is a Unix socket without a path");
    }
    return Address::parse("unix:" + std::string(path.substr(0, path.find('\0'))));
  }
  const ClientAddress ip = to_client_address(storage);
  if (ip.is_none()) return tl::unexpected<std::string>("is neither TCP nor a Unix socket");
  return Address::parse(ip.with_port());
}

}  // namespace

tl::expected<PassedSockets, std::string> PassedSockets::take(
    std::map<std::string, std::string>& environment) {
  const std::string process = take_variable(environment, "LISTEN_PID");
  const std::string count = take_variable(environment, "LISTEN_FDS");
  std::string names = take_variable(environment, "LISTEN_FDNAMES");
  PassedSockets passed;
  if (count.empty() || process != std::to_string(::getpid())) return passed;
  const auto number = number_of("LISTEN_FDS", count);
  if (!number) return tl::unexpected(number.error());
  if (*number > kMax) return tl::unexpected("LISTEN_FDS: at most " + std::to_string(kMax));
  for (size_t i = 0; i < *number; ++i) {
    const int fd = kFirst + static_cast<int>(i);
    const size_t end = std::min(names.find(':'), names.size());
    std::string name = end == 0 ? "unknown" : names.substr(0, end);
    names.erase(0, end + 1);
    auto address = address_of(fd);
    if (!address) {
      return tl::unexpected("socket '" + name + "' (descriptor " + std::to_string(fd) +
                            ") that was passed on " + address.error());
    }
    const int flags = ::fcntl(fd, F_GETFL);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
      return tl::unexpected("socket '" + name + "' cannot be used");
    }
    passed.sockets_.push_back({FileDescriptor(fd), *std::move(address), std::move(name)});
  }
  return passed;
}

FileDescriptor PassedSockets::find(const Address& address) {
  const auto found = std::ranges::find(sockets_, address, &Socket::address);
  if (found == sockets_.end()) return {};
  FileDescriptor descriptor = std::move(found->descriptor);
  sockets_.erase(found);
  return descriptor;
}

std::string PassedSockets::unused() const {
  std::string text;
  for (const Socket& socket : sockets_) {
    text.append(text.empty() ? "" : ", ").append(socket.address.to_string());
    text.append(" ('").append(socket.name).append("')");
  }
  return text;
}

namespace {

std::string_view value_of(const std::map<std::string, std::string>& environment,
                          const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : found->second;
}

uint64_t number_of(std::string_view text) {
  uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

// How often a sign of life is due: sd_watchdog_enabled(3) advises half of the time.
Duration watchdog_interval(const std::map<std::string, std::string>& environment) {
  const std::string_view pid = value_of(environment, "WATCHDOG_PID");
  if (!pid.empty() && number_of(pid) != static_cast<uint64_t>(::getpid())) return Duration::zero();
  constexpr uint64_t kMaxMicroseconds = 86'400'000'000;
  const uint64_t whole = number_of(value_of(environment, "WATCHDOG_USEC"));
  if (whole == 0 || whole > kMaxMicroseconds) return Duration::zero();
  return std::chrono::microseconds(static_cast<int64_t>(whole)) / 2;
}

}  // namespace

ServiceNotifier::ServiceNotifier(Loop& loop, const std::map<std::string, std::string>& environment)
    : loop_(loop),
      socket_(value_of(environment, "NOTIFY_SOCKET")),
      watchdog_timer_(loop.timers(), [this] { tell_alive(); }) {
  // A path, or "@" and an abstract name; other kinds of sockets are not known.
  const bool is_known =
      socket_.starts_with('/') || (socket_.starts_with('@') && socket_.size() > 1);
  if (!is_known || socket_.size() >= sizeof(sockaddr_un::sun_path)) socket_.clear();
  if (!socket_.empty()) interval_ = watchdog_interval(environment);
}

void ServiceNotifier::ready(std::string_view status) {
  tell("READY=1\nSTATUS=" + std::string(status));
  if (interval_ > Duration::zero()) tell_alive();
}

void ServiceNotifier::reloading() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::floor<std::chrono::microseconds>(now).count();
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void ServiceNotifier::stopping(std::string_view status, Duration patience) {
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(patience).count();
  tell("STOPPING=1\nSTATUS=" + std::string(status) +
       "\nEXTEND_TIMEOUT_USEC=" + std::to_string(microseconds));
}

void ServiceNotifier::tell_alive() {
  tell("WATCHDOG=1");
  watchdog_timer_.arm(loop_.now() + interval_);
}

void ServiceNotifier::tell(const std::string& state) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
           size);
  ::close(fd);
}

}  // namespace stdgate::net
