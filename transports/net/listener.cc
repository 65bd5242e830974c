#include "transports/net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stdgate::net {

ClientAddress to_client_address(const sockaddr_storage& address) {
  ClientAddress out;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    out = ClientAddress::ipv4(
        std::span<const uint8_t, 4>(reinterpret_cast<const uint8_t*>(&in.sin_addr), 4));
    out.port = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in6{};
    std::memcpy(&in6, &address, sizeof(in6));
    out = ClientAddress::ipv6(std::span<const uint8_t, 16>(in6.sin6_addr.s6_addr, 16));
    out.port = ntohs(in6.sin6_port);
  }
  return out;
}

namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Address& address) {
  SocketAddress out;
  if (address.kind == Address::Kind::unix_socket) {
    auto* un = reinterpret_cast<sockaddr_un*>(&out.storage);
    un->sun_family = AF_UNIX;
    std::memcpy(un->sun_path, address.path.data(),
                std::min(address.path.size(), sizeof(un->sun_path) - 1));
    out.size = sizeof(sockaddr_un);
  } else if (address.host.find(':') != std::string::npos) {
    uv_ip6_addr(address.host.c_str(), address.port, reinterpret_cast<sockaddr_in6*>(&out.storage));
    out.size = sizeof(sockaddr_in6);
  } else {
    uv_ip4_addr(address.host.c_str(), address.port, reinterpret_cast<sockaddr_in*>(&out.storage));
    out.size = sizeof(sockaddr_in);
  }
  return out;
}

// All zero without a peer.
SocketAddress name_of(int fd) {
  SocketAddress name;
  if (getsockname(fd, name.get(), &name.size) != 0) return {};
  return name;
}

// The peer of a connection on a listener's socket.
ClientAddress peer_of(const sockaddr_storage& storage, int fd) {
  if (storage.ss_family != AF_UNIX) return to_client_address(storage);
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return ClientAddress::unix_user(peer.uid);
}

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

// Makes way for a socket at the path; 0, or the errno that says why it cannot.
int remove_stale_socket(const Address& address) {
  struct stat status {};
  if (::lstat(address.path.c_str(), &status) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(status.st_mode)) return EEXIST;
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return errno;
  SocketAddress target = to_socket_address(address);
  if (::connect(probe.get(), target.get(), target.size) == 0) return EADDRINUSE;
  if (errno != ECONNREFUSED) return errno == EACCES ? EACCES : EADDRINUSE;
  return ::unlink(address.path.c_str()) == 0 ? 0 : errno;
}

// A socket that listens there, or the errno of the failure.
tl::expected<FileDescriptor, int> listen_at(const Address& address) {
  if (address.kind == Address::Kind::unix_socket) {
    if (const int error = remove_stale_socket(address); error != 0) return tl::unexpected(error);
  }
  SocketAddress target = to_socket_address(address);
  const int family = target.storage.ss_family;
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return tl::unexpected(errno);
  if (family != AF_UNIX) set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(fd.get(), target.get(), target.size) != 0) return tl::unexpected(errno);
  if (::listen(fd.get(), Listener::kBacklog) != 0) return tl::unexpected(errno);
  return fd;
}

}  // namespace

struct Listener::Block {
  uv_poll_t poll{};
};

tl::expected<std::unique_ptr<Listener>, std::string> Listener::open(Loop& loop,
                                                                    const Address& address,
                                                                    ListenerEvents& events,
                                                                    FileDescriptor passed) {
  const auto failure = [&](int error) {
    return tl::unexpected(address.to_string() + ": " + uv_strerror(error));
  };
  const bool was_passed = passed.is_open();
  tl::expected<FileDescriptor, int> socket = std::move(passed);
  if (!was_passed) socket = listen_at(address);
  if (!socket) return failure(uv_translate_sys_error(socket.error()));
  std::unique_ptr<Listener> listener(
      new Listener(loop, address, events, std::move(*socket), was_passed));
  const int error = listener->watch();
  if (error != 0) return failure(error);
  return listener;
}

Listener::Listener(Loop& loop, Address address, ListenerEvents& events, FileDescriptor socket,
                   bool was_passed)
    : loop_(loop),
      address_(std::move(address)),
      events_(events),
      socket_(std::move(socket)),
      was_passed_(was_passed),
      pause_(loop.timers(), [this] { watch(); }) {
  if (address_.kind == Address::Kind::tcp) {
    const ClientAddress bound = to_client_address(name_of(socket_.get()).storage);
    address_.port = bound.port;
    bound_ = bound.without_port();
    return;
  }
  struct stat status {};
  if (was_passed_ || ::lstat(address_.path.c_str(), &status) != 0) return;
  file_device_ = status.st_dev;
  file_inode_ = status.st_ino;
}

Listener::~Listener() {
  if (block_ != nullptr) {
    uv_close(reinterpret_cast<uv_handle_t*>(&block_->poll), [](uv_handle_t* handle) {
      delete reinterpret_cast<Block*>(reinterpret_cast<uv_poll_t*>(handle));
    });
  }
  struct stat status {};
  if (file_inode_ != 0 && ::lstat(address_.path.c_str(), &status) == 0 &&
      status.st_dev == file_device_ && status.st_ino == file_inode_) {
    ::unlink(address_.path.c_str());
  }
}

int Listener::watch() {
  if (block_ == nullptr) {
    auto block = std::make_unique<Block>();
    const int error = uv_poll_init(loop_.uv(), &block->poll, socket_.get());
    if (error != 0) return error;
    block_ = block.release();
    block_->poll.data = this;
  }
  return uv_poll_start(&block_->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Listener*>(poll->data)->on_readable();
  });
}

void Listener::on_readable() {
  loop_.refresh_now();
  announce(kMaxAcceptsPerTurn);
}

void Listener::announce(int max) {
  for (int i = 0; i < max; ++i) {
    SocketAddress peer;
    waiting_.reset(::accept4(socket_.get(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (waiting_.is_open()) {
      peer_ = peer_of(peer.storage, waiting_.get());
      events_.on_connection(*this);
      waiting_.reset();
      continue;
    }
    const int error = errno;
    if (error == EAGAIN) return;
    // accept(2): errors of a connection that died while it waited.
    if (error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM) continue;
    uv_poll_stop(&block_->poll);
    pause_.arm(loop_.now() + kPause);
    events_.on_accept_error(uv_translate_sys_error(error));
    return;
  }
}

// Asks the kernel only where the listener's own address does not tell.
ClientAddress Listener::local_address() const {
  if (address_.kind != Address::Kind::tcp || !bound_.is_any()) return bound_;
  return to_client_address(name_of(waiting_.get()).storage).without_port();
}

std::unique_ptr<ByteStream> Listener::accept(StreamEvents& events, int* error) {
  const bool is_tcp = address_.kind == Address::Kind::tcp;
  if (!waiting_.is_open()) {
    *error = UV_EAGAIN;
    return nullptr;
  }
  if (is_tcp) set_option(waiting_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return ByteStream::adopt(loop_, waiting_.release(),
                           is_tcp ? ByteStream::Kind::tcp : ByteStream::Kind::pipe, events, error);
}

}  // namespace stdgate::net
