#include "transports/net/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace stdgate::net {

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
