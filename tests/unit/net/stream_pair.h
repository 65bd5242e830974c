// Connected descriptors of every kind that a ByteStream takes, and an owner that records events.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>

#include "transports/net/byte_stream.h"
#include "transports/net/file_descriptor.h"

namespace stdgate::test {

using Ends = std::array<net::FileDescriptor, 2>;

inline Ends unix_pair() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {net::FileDescriptor(fds[0]), net::FileDescriptor(fds[1])};
}

inline Ends tcp_pair() {
  const net::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener.get(), generic, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
  net::FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), generic, size), 0);
  return {net::FileDescriptor(::accept(listener.get(), nullptr, nullptr)), std::move(client)};
}

inline Ends socket_pair(net::ByteStream::Kind kind) {
  return kind == net::ByteStream::Kind::tcp ? tcp_pair() : unix_pair();
}

struct StreamOwner final : net::StreamEvents {
  void on_bytes(std::span<char> chunk) override {
    bytes.append(chunk.data(), chunk.size());
    ++reads;
    call(bytes_hook);
  }
  void on_end() override {
    ++ends;
    call(end_hook);
  }
  void on_error(int code) override {
    error = code;
    ++errors;
    call(error_hook);
  }
  void on_writable() override {
    ++writable;
    call(writable_hook);
  }
  void on_flushed() override {
    ++flushed;
    call(flushed_hook);
  }
  static void call(const std::function<void()>& hook) {
    if (hook) hook();
  }

  void adopt(net::Loop& loop, net::FileDescriptor fd, net::ByteStream::Kind kind) {
    int code = 0;
    stream = net::ByteStream::adopt(loop, fd.release(), kind, *this, &code);
    ASSERT_EQ(code, 0);
  }
  void read() { stream->resume_read(net::ByteStream::kNotStarted); }

  std::unique_ptr<net::ByteStream> stream;
  std::string bytes;
  int reads = 0, ends = 0, errors = 0, error = 0, writable = 0, flushed = 0;
  std::function<void()> bytes_hook, end_hook, error_hook, writable_hook, flushed_hook;
};

// The bytes that one read finds at a descriptor, without waiting.
inline std::string read_now(const net::FileDescriptor& fd) {
  std::string buffer(1 << 20, '\0');
  const ssize_t count = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  buffer.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return buffer;
}

inline bool at_end(const net::FileDescriptor& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

// Bytes that differ at every place, so that a lost or repeated piece is noticed.
inline std::string pattern(size_t size) {
  std::string out(size, '\0');
  uint32_t state = 12345;
  for (char& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return out;
}

}  // namespace stdgate::test
