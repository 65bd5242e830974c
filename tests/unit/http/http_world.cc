#include "tests/unit/http/http_world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "gateway/pool/dialect.h"

namespace stdgate::test {

namespace {

int connect_to(const Address& address, const std::string& from) {
  int fd = -1;
  int status = -1;
  if (address.kind == Address::Kind::tcp) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!from.empty()) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      inet_pton(AF_INET, from.c_str(), &own.sin_addr);
      EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
    }
    status = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to));
    const int on = 1;  // otherwise a request in pieces waits for acknowledgements
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  } else {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, address.path.c_str(), sizeof(to.sun_path) - 1);
    fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    status = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  }
  EXPECT_EQ(status, 0) << std::strerror(errno);
  return fd;
}

std::unique_ptr<backend::Backend> make_backend(HttpWorld& world, BackendId id, const char* name) {
  backend::BackendOptions options;
  options.config.name = name;
  options.config.command = {"fake"};
  options.config.protocol = config::Protocol::jsonrpc;
  options.config.is_default = id == 0;
  options.config.isolation = world.options.isolation;
  options.config.pool = world.options.pool;
  options.config.timeout = world.options.timeout.value_or(options.config.timeout);
  options.limits = world.options.limits;
  return std::make_unique<backend::Backend>(
      id, std::move(options), std::make_unique<pool::JsonRpcDialect>("$/cancelRequest"),
      world.callers, world.core);
}

class IndexEndpoint final : public http::Endpoint {
 public:
  explicit IndexEndpoint(std::string text) : text_(std::move(text)) {}

  std::optional<http::HttpError> admit(http::Exchange& /*exchange*/) override {
    return std::nullopt;
  }
  void serve(http::Exchange& exchange, std::span<char> /*body*/) override {
    exchange.respond({.content_type = "text/plain; charset=utf-8"}, text_);
  }

 private:
  const std::string text_;
};

// The body's chunks are joined in `body`. Returns the end of the body, or nothing if it is
// incomplete.
std::optional<size_t> end_of_chunks(std::string_view text, size_t at, std::string& body) {
  for (;;) {
    const size_t line = text.find("\r\n", at);
    if (line == std::string_view::npos) return std::nullopt;
    const size_t size = std::stoul(std::string(text.substr(at, line - at)), nullptr, 16);
    if (text.size() < line + 2 + size + 2) return std::nullopt;
    if (size == 0) return line + 4;
    body += text.substr(line + 2, size);
    EXPECT_EQ(text.substr(line + 2 + size, 2), "\r\n");
    at = line + 2 + size + 2;
  }
}

}  // namespace

void add_index(http::Router& router) {
  router.add("/", "this list", std::make_unique<IndexEndpoint>(router.index_text("title")),
             http::Guards::reading(http::RouteAudience::operators));
}

HttpWorld::HttpWorld(const WorldOptions& world_options)
    : options(world_options), callers(world_options.callers) {
  backends.add(make_backend(*this, 0, "calc"));
  backends.add(make_backend(*this, 1, "other"));
  backends.start();
  loop.check_each_turn([this] {
    backends.check_invariants();
    accounts.check_invariants();
  });
  http::add_rpc_routes(router, backends, options.limits);
  add_index(router);
  router.share_answers();
  server =
      std::make_unique<http::Server>(http::HttpServices{loop, log, observer, callers, backends,
                                                        options.limits, options.timeouts, accounts},
                                     router);
  Address wanted = options.address;
  if (wanted.host.empty() && wanted.path.empty()) wanted.host = "127.0.0.1";
  const auto bound = server->listen(wanted);
  EXPECT_TRUE(bound) << bound.error();
  address = *bound;
}

HttpWorld::~HttpWorld() {
  server.reset();
  loop.run_once();
  EXPECT_EQ(observer.opened, observer.closed);
  if (backends.kept_messages() == 0) {
    EXPECT_EQ(accounts.held_for_clients(), 0U) << "something is kept for nobody";
  }
}

ScriptedChild& HttpWorld::child() {
  EXPECT_TRUE(until([this] { return !launcher.children.empty(); }));
  return *launcher.children.front();
}

TestClient::TestClient(HttpWorld& world, bool reads, const std::string& from) : world_(world) {
  const bool is_tcp = world.address.kind == Address::Kind::tcp;
  stream_ = net::ByteStream::adopt(
      world.loop, connect_to(world.address, from),
      is_tcp ? net::ByteStream::Kind::tcp : net::ByteStream::Kind::pipe, *this, &error);
  if (reads) read();
}

std::optional<Answer> TestClient::take(bool is_head) {
  const size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string::npos) return std::nullopt;
  Answer answer;
  answer.status = std::stoi(received.substr(9, 3));
  for (size_t at = received.find("\r\n") + 2; at < head_end + 2;) {
    const size_t end = received.find("\r\n", at);
    const size_t colon = received.find(": ", at);
    answer.fields[received.substr(at, colon - at)] = received.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  size_t end = head_end + 4;
  if (!is_head && answer.field("Transfer-Encoding") == "chunked") {
    const auto chunks_end = end_of_chunks(received, end, answer.body);
    if (!chunks_end) return std::nullopt;
    end = *chunks_end;
  } else if (!is_head && !answer.field("Content-Length").empty()) {
    const size_t size = std::stoul(answer.field("Content-Length"));
    if (received.size() < end + size) return std::nullopt;
    answer.body = received.substr(end, size);
    end += size;
  }
  received.erase(0, end);
  return answer;
}

Answer TestClient::answer(bool is_head) {
  std::optional<Answer> answer;
  world_.until([&] {
    answer = take(is_head);
    return answer || ended;
  });
  return answer.value_or(Answer{});
}

std::string post(std::string_view body, std::string_view more_fields, std::string_view path) {
  std::string text = "POST " + std::string(path) +
                     " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: " +
                     std::to_string(body.size()) + "\r\n";
  text += more_fields;
  text += "\r\n";
  text += body;
  return text;
}

std::string get(std::string_view target, std::string_view more_fields) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" +
         std::string(more_fields) + "\r\n";
}

std::string call(std::string_view id, std::string_view method, std::string_view params) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":)" + std::string(params) + '}';
}

std::string result(std::string_view id, std::string_view value) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(value) + '}';
}

}  // namespace stdgate::test
