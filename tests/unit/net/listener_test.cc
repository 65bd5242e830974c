#include "transports/net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/support/loop_runner.h"
#include "tests/unit/net/stream_pair.h"

namespace stdgate {
namespace {

using std::chrono::milliseconds;
using test::run_until;
using test::StreamOwner;

// Accepts each connection and echoes its bytes, or leaves the connection waiting.
struct EchoServer final : net::ListenerEvents {
  void on_connection(net::Listener& listener) override {
    ++connections;
    if (!takes) return;
    auto owner = std::make_unique<StreamOwner>();
    int error = 0;
    owner->stream = listener.accept(*owner, &error);
    ASSERT_EQ(error, 0);
    owner->bytes_hook = [o = owner.get()] { o->stream->write(std::exchange(o->bytes, {})); };
    owner->read();
    // No second connection waits within the same event.
    EXPECT_EQ(listener.accept(*owner, &error), nullptr);
    EXPECT_EQ(error, UV_EAGAIN);
    owners.push_back(std::move(owner));
  }
  void on_accept_error(int error) override {
    ++errors;
    last_error = error;
  }
  std::vector<std::unique_ptr<StreamOwner>> owners;
  bool takes = true;
  int connections = 0;
  int errors = 0;
  int last_error = 0;
};

class ListenerTest : public testing::Test {
 protected:
  ListenerTest() {
    std::string name = testing::TempDir() + "listenerXXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ListenerTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string socket_path() const { return directory_ + "/s"; }
  [[nodiscard]] Address unix_address() const { return *Address::parse("unix:" + socket_path()); }

  auto open(const Address& address) { return net::Listener::open(loop_, address, server_); }
  auto open(const char* text) { return open(*Address::parse(text)); }

  static net::FileDescriptor connect_to(const Address& address) {
    const auto connected = [](int family, const auto& target) {
      net::FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const auto* generic = reinterpret_cast<const sockaddr*>(&target);
      return ::connect(fd.get(), generic, sizeof(target)) == 0 ? std::move(fd)
                                                               : net::FileDescriptor();
    };
    if (address.kind == Address::Kind::unix_socket) {
      sockaddr_un target{};
      target.sun_family = AF_UNIX;
      address.path.copy(target.sun_path, sizeof(target.sun_path) - 1);
      return connected(AF_UNIX, target);
    }
    sockaddr_in target{};
    EXPECT_EQ(uv_ip4_addr(address.host.c_str(), address.port, &target), 0);
    return connected(AF_INET, target);
  }

  void expect_echo(const Address& address) {
    const net::FileDescriptor client = connect_to(address);
    ASSERT_TRUE(client.is_open()) << address.to_string();
    ASSERT_EQ(::send(client.get(), "hello", 5, 0), 5);
    std::string got;
    ASSERT_TRUE(run_until(loop_, [&] {
      got += test::read_now(client);
      return got == "hello";
    }));
  }

  std::string directory_;
  net::Loop loop_;
  EchoServer server_;
};

TEST_F(ListenerTest, ServesTcpAtAPortOfTheKernelsChoice) {
  for (const char* text : {"127.0.0.1:0", ":0", "localhost:0"}) {
    const auto listener = open(text);
    ASSERT_TRUE(listener) << listener.error();
    EXPECT_NE((*listener)->address().port, 0);
    Address target = (*listener)->address();
    target.host = "127.0.0.1";
    expect_echo(target);
  }
}

TEST_F(ListenerTest, AnyIpv6AddressServesIpv4Too) {
  const auto listener = open("[::]:0");
  if (!listener) {  // the machine has no IPv6
    EXPECT_NE(listener.error().find("[::]:0: "), std::string::npos);
    return;
  }
  Address target = (*listener)->address();
  EXPECT_EQ(target.to_string(), "[::]:" + std::to_string(target.port));
  target.host = "127.0.0.1";
  expect_echo(target);
}

TEST_F(ListenerTest, ServesAUnixSocketAndRemovesItsFile) {
  {
    const auto listener = open(unix_address());
    ASSERT_TRUE(listener) << listener.error();
    expect_echo(unix_address());
    EXPECT_TRUE(std::filesystem::is_socket(socket_path()));
  }
  EXPECT_FALSE(std::filesystem::exists(socket_path()));
}

// Another process such as systemd may hold the socket too, and pass it to the next process.
TEST_F(ListenerTest, ASocketThatWasPassedOnOutlivesIt) {
  const net::FileDescriptor kept(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(kept.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(kept.get(), 8), 0);
  ASSERT_EQ(::fcntl(kept.get(), F_SETFL, O_NONBLOCK), 0);
  net::FileDescriptor waiting;
  {
    const auto listener =
        net::Listener::open(loop_, unix_address(), server_, net::FileDescriptor(::dup(kept.get())));
    ASSERT_TRUE(listener) << listener.error();
    expect_echo(unix_address());
    waiting = connect_to(unix_address());
    (*listener)->take_waiting();
  }
  EXPECT_EQ(server_.connections, 1);
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
  const net::FileDescriptor next(::accept(kept.get(), nullptr, nullptr));
  EXPECT_TRUE(next.is_open()) << "it waits for the next process";
}

TEST_F(ListenerTest, ReplacesAStaleSocketFile) {
  {
    const net::FileDescriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(socket_path()));
  const auto listener = open(unix_address());
  ASSERT_TRUE(listener) << listener.error();
  expect_echo(unix_address());
}

TEST_F(ListenerTest, LeavesALiveSocketAlone) {
  const auto first = open(unix_address());
  ASSERT_TRUE(first);
  const auto second = open(unix_address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), unix_address().to_string() + ": address already in use");
  expect_echo(unix_address());
}

TEST_F(ListenerTest, LeavesOtherFilesAlone) {
  std::ofstream(socket_path()) << "precious";
  const auto listener = open(unix_address());
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error(), unix_address().to_string() + ": file already exists");
  EXPECT_TRUE(std::filesystem::is_regular_file(socket_path()));
}

TEST_F(ListenerTest, RemovesOnlyItsOwnFile) {
  {
    const auto listener = open(unix_address());
    ASSERT_TRUE(listener);
    std::filesystem::rename(socket_path(), socket_path() + ".old");
    std::ofstream(socket_path()) << "somebody else's";
  }
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

TEST_F(ListenerTest, SaysWhatIsWrong) {
  const auto first = open("127.0.0.1:0");
  ASSERT_TRUE(first);
  const Address taken = (*first)->address();
  const auto second = open(taken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), taken.to_string() + ": address already in use");
  const auto elsewhere = open("203.0.113.1:0");
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error(), "203.0.113.1:0: address not available");
  const auto nowhere = open("unix:/nonexistent/s");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error(), "unix:/nonexistent/s: no such file or directory");
}

TEST_F(ListenerTest, ClosesAConnectionThatNobodyTakes) {
  const auto listener = open("127.0.0.1:0");
  ASSERT_TRUE(listener);
  server_.takes = false;
  const net::FileDescriptor client = connect_to((*listener)->address());
  ASSERT_TRUE(run_until(loop_, [&] { return server_.connections == 1; }));
  char byte = 0;
  EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0);
}

TEST_F(ListenerTest, AcceptsMoreThanATurnTakes) {
  const auto listener = open("127.0.0.1:0");
  ASSERT_TRUE(listener);
  std::vector<net::FileDescriptor> clients;
  for (int i = 0; i < net::Listener::kMaxAcceptsPerTurn + 1; ++i) {
    clients.push_back(connect_to((*listener)->address()));
  }
  loop_.run_once();
  EXPECT_EQ(server_.connections, net::Listener::kMaxAcceptsPerTurn);
  ASSERT_TRUE(run_until(
      loop_, [&] { return server_.connections == net::Listener::kMaxAcceptsPerTurn + 1; }));
}

TEST_F(ListenerTest, WithoutDescriptorsItPausesAndThenGoesOn) {
  const auto listener = open("127.0.0.1:0");
  ASSERT_TRUE(listener);
  // One connection is made while there are descriptors, because the sanitizer's first check of a
  // type opens some.
  const net::FileDescriptor earlier = connect_to((*listener)->address());
  ASSERT_TRUE(run_until(loop_, [&] { return server_.connections == 1; }));
  const net::FileDescriptor client = connect_to((*listener)->address());
  // The limit is the number of open descriptors, so the next descriptor is one too many.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const net::FileDescriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit none{static_cast<rlim_t>(next.get()), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  test::run_for(loop_, milliseconds(250));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(server_.errors, 1);
  EXPECT_LE(server_.errors, 3);
  EXPECT_EQ(server_.last_error, UV_EMFILE);
  EXPECT_TRUE(run_until(loop_, [&] { return server_.connections == 2; }));
}

std::string text_of(int family, const char* host, uint16_t port) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, host, &in.sin_addr), 1);
    std::memcpy(&storage, &in, sizeof(in));
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
    std::memcpy(&storage, &in6, sizeof(in6));
  }
  return net::to_client_address(storage).with_port();
}

TEST(SocketAddress, IsWrittenAsAUrlHasIt) {
  EXPECT_EQ(text_of(AF_INET, "192.0.2.7", 1), "192.0.2.7:1");
  EXPECT_EQ(text_of(AF_INET, "127.0.0.1", 65535), "127.0.0.1:65535");
  EXPECT_EQ(text_of(AF_INET6, "::1", 80), "[::1]:80");
  EXPECT_EQ(text_of(AF_INET6, "2001:db8::2:1", 443), "[2001:db8::2:1]:443");
  EXPECT_EQ(text_of(AF_INET6, "::ffff:192.0.2.7", 443), "192.0.2.7:443");
}

TEST(SocketAddress, UnixSocketsHaveNone) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(net::to_client_address(storage).with_port(), "unix");
  EXPECT_EQ(ClientAddress().with_port(), "unix");
}

TEST(SocketAddress, IsThatOfTheClient) {
  sockaddr_storage storage{};
  EXPECT_EQ(net::to_client_address(storage), ClientAddress());
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  ipv4.sin_family = AF_INET;
  inet_pton(AF_INET, "10.0.0.5", &ipv4.sin_addr);
  EXPECT_EQ(net::to_client_address(storage), ClientAddress::parse("10.0.0.5"));
  storage = {};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "fd00::5", &ipv6.sin6_addr);
  EXPECT_EQ(net::to_client_address(storage), ClientAddress::parse("fd00::5"));
}

}  // namespace
}  // namespace stdgate
