#include "tests/integration/harness/tls_tunnel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace stdgate::harness {
namespace {

constexpr int kDeadlineMs = 20'000;

uint16_t port_of(const std::string& url) {
  return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool is_readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

// Reads the bytes that have arrived; `bytes` is empty at the end of the stream. False: the stream
// has ended.
bool receive(int fd, std::string& bytes) {
  std::array<char, 65536> piece;
  const ssize_t count = ::recv(fd, piece.data(), piece.size(), 0);
  bytes.assign(piece.data(), count > 0 ? static_cast<size_t>(count) : 0);
  return count > 0;
}

bool shake(int fd, test::TlsClient& client) {
  std::string bytes;
  send_all(fd, client.take_sealed());
  while (!client.is_open()) {
    if (!is_readable(fd, kDeadlineMs) || !receive(fd, bytes)) return false;
    const bool good = client.receive(bytes);
    send_all(fd, client.take_sealed());
    if (!good) return false;
  }
  return true;
}

}  // namespace

TlsTunnel::TlsTunnel(const std::string& url, test::TlsClientOptions options)
    : options_(std::move(options)), target_(port_of(url)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("tls tunnel: no port");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

TlsTunnel::~TlsTunnel() {
  ends_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& carrier : carriers_) carrier.join();
  ::close(listener_);
}

std::string TlsTunnel::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void TlsTunnel::accept_all() {
  while (!ends_) {
    const int plain = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (plain < 0) continue;
    carriers_.emplace_back([this, plain] { carry(plain); });
  }
}

void TlsTunnel::carry(int plain) {
  const int sealed = connect_to(target_);
  {
    const std::lock_guard lock(mutex_);
    open_.insert(open_.end(), {plain, sealed});
    if (ends_) ::shutdown(plain, SHUT_RDWR);
  }
  test::TlsClient client(options_);
  bool sends = sealed >= 0 && shake(sealed, client);
  bool receives = sends;
  std::string bytes;
  const auto give_plain = [&] { return send_all(plain, std::exchange(client.plain, {})); };
  if (receives) give_plain();
  while (receives) {
    std::array<pollfd, 2> entries{pollfd{sends ? plain : -1, POLLIN, 0}, pollfd{sealed, POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0) break;
    if (entries[0].revents != 0) {
      sends = receive(plain, bytes);
      if (sends) {
        client.write(bytes);
      } else {
        client.shutdown_write();
      }
      if (!send_all(sealed, client.take_sealed())) break;
      if (!sends) ::shutdown(sealed, SHUT_WR);
    }
    if (entries[1].revents != 0) {
      receives = receive(sealed, bytes) && client.receive(bytes);
      receives = give_plain() && receives && !client.has_ended();
    }
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](int fd) { return fd == plain || fd == sealed; });
  ::close(plain);
  if (sealed >= 0) ::close(sealed);
}

TlsGlance look_at(const std::string& url, const test::TlsClientOptions& options) {
  TlsGlance glance;
  const int fd = connect_to(port_of(url));
  test::TlsClient client(options);
  glance.is_open = shake(fd, client);
  if (glance.is_open && is_readable(fd, 200)) {
    // In TLS 1.3 the server's verdict on the client's certificate follows the handshake.
    std::string bytes;
    glance.is_open = receive(fd, bytes) && client.receive(bytes);
  }
  glance.peer_name = client.peer_name();
  glance.version = client.version();
  glance.error = client.error();
  ::close(fd);
  return glance;
}

}  // namespace stdgate::harness
