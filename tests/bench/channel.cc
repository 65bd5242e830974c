#include "tests/bench/channel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace stdgate::bench {
namespace {

constexpr int kPipeBytes = 1 << 20;

tl::unexpected<std::string> failed(const std::string& what) {
  return tl::unexpected(what + ": " + std::strerror(errno));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void unblock(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Channel::~Channel() {
  ::close(input_);
  if (output_ != input_) ::close(output_);
}

bool Channel::flush() {
  while (has_unsent()) {
    const std::string_view queued = unsent_.view();
    const std::array<iovec, 2> parts = {iovec{const_cast<char*>(queued.data()), queued.size()},
                                        iovec{const_cast<char*>(kept_.data()), kept_.size()}};
    const ssize_t count = queued.empty()  ? ::write(output_, kept_.data(), kept_.size())
                          : kept_.empty() ? ::write(output_, queued.data(), queued.size())
                                          : ::writev(output_, parts.data(), parts.size());
    if (count < 0) return would_block();
    const auto taken = static_cast<size_t>(count);
    const size_t of_queued = std::min(taken, queued.size());
    unsent_.consume(of_queued);
    kept_.remove_prefix(taken - of_queued);
  }
  return true;
}

ssize_t Channel::read(std::span<char> to) const {
  const ssize_t count = ::read(input_, to.data(), to.size());
  if (count > 0) return count;
  return count < 0 && would_block() ? 0 : -1;
}

tl::expected<Descriptors, std::string> connect_to(const std::string& host, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return tl::unexpected("not an IPv4 address: " + host);
  }
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return failed("socket");
  if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    auto error = failed("connect to " + host + ":" + std::to_string(port));
    ::close(descriptor);
    return error;
  }
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  unblock(descriptor);
  return Descriptors{descriptor, descriptor};
}

tl::expected<PipedProcess, std::string> start_piped(const std::vector<std::string>& command) {
  std::array<int, 2> to_child = {};
  std::array<int, 2> from_child = {};
  if (::pipe2(to_child.data(), O_CLOEXEC) != 0) return failed("pipe");
  if (::pipe2(from_child.data(), O_CLOEXEC) != 0) return failed("pipe");
  // If the process may not have pipes of this size, the default size is good enough.
  ::fcntl(to_child[1], F_SETPIPE_SZ, kPipeBytes);
  ::fcntl(from_child[1], F_SETPIPE_SZ, kPipeBytes);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
  PipedProcess process;
  errno = ::posix_spawnp(&process.pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to_child[0]);
  ::close(from_child[1]);
  if (errno != 0) return failed(command[0]);
  unblock(to_child[1]);
  unblock(from_child[0]);
  process.descriptors = {from_child[0], to_child[1]};
  return process;
}

}  // namespace stdgate::bench
