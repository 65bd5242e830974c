#include "tests/integration/harness/web_server.h"

#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace stdgate::harness {
namespace {

SSL_CTX* make_tls(const test::Credential& credential) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  BIO* const certificate = BIO_new_mem_buf(credential.certificate.data(),
                                           static_cast<int>(credential.certificate.size()));
  BIO* const key = BIO_new_mem_buf(credential.key.data(), static_cast<int>(credential.key.size()));
  X509* const x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  EVP_PKEY* const private_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, x509);
  SSL_CTX_use_PrivateKey(context, private_key);
  X509_free(x509);
  EVP_PKEY_free(private_key);
  BIO_free(certificate);
  BIO_free(key);
  return context;
}

size_t length_of_body(const std::string& head) {
  constexpr std::string_view kField = "\r\nContent-Length: ";
  const size_t at = head.find(kField);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + kField.size()));
}

// Reads a request and writes its answer. `read` and `write` are like read(2) and write(2).
template <class Read, class Write, class Answer>
void exchange(Read&& read, Write&& write, Answer&& answer) {
  std::string head;
  std::array<char, 4096> buffer{};
  const auto read_more = [&] {
    const auto count = read(buffer.data(), buffer.size());
    if (count > 0) head.append(buffer.data(), static_cast<size_t>(count));
    return count > 0;
  };
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (!read_more()) return;
  }
  const size_t end = head.find("\r\n\r\n") + 4;
  const size_t length = length_of_body(head.substr(0, end));
  while (head.size() < end + length) {
    if (!read_more()) return;
  }
  const std::string response = answer(head.substr(0, end), head.substr(end));
  for (size_t sent = 0; sent < response.size();) {
    const auto count = write(response.data() + sent, response.size() - sent);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
  // A connection without an answer stays open until the client ends it.
  if (response.empty()) read(buffer.data(), buffer.size());
}

}  // namespace

WebServer::WebServer(const test::Credential& credential) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, generic, size) != 0 || ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, generic, &size) != 0) {
    throw std::runtime_error("no port for a server of the test");
  }
  const bool is_secure = !credential.certificate.empty();
  if (is_secure) tls_ = make_tls(credential);
  url_ = (is_secure ? "https://127.0.0.1:" : "http://127.0.0.1:") +
         std::to_string(ntohs(address.sin_port));
  acceptor_ = std::thread([this] { accept_all(); });
}

WebServer::~WebServer() {
  die();
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : open_) ::close(socket);
  SSL_CTX_free(tls_);
}

void WebServer::die() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);
  acceptor_.join();
  ::close(std::exchange(socket_, -1));
  const std::scoped_lock lock(mutex_);
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

void WebServer::answer(const std::string& path, std::string response) {
  const std::scoped_lock lock(mutex_);
  answers_[path] = std::move(response);
}

size_t WebServer::count(const std::string& path) const { return heads(path).size(); }

std::vector<std::string> WebServer::heads(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = asked_.find(path);
  return found == asked_.end() ? std::vector<std::string>() : found->second.heads;
}

std::vector<std::string> WebServer::bodies(const std::string& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = asked_.find(path);
  return found == asked_.end() ? std::vector<std::string>() : found->second.bodies;
}

void WebServer::accept_all() {
  while (true) {
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const std::scoped_lock lock(mutex_);
    open_.push_back(socket);
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void WebServer::serve(int socket) {
  const auto answer = [this](const std::string& head, const std::string& body) {
    return response_to(head, body);
  };
  if (tls_ == nullptr) {
    exchange([socket](char* to, size_t size) { return ::recv(socket, to, size, 0); },
             [socket](const char* from, size_t size) {
               return ::send(socket, from, size, MSG_NOSIGNAL);
             },
             answer);
  } else {
    SSL* const ssl = SSL_new(tls_);
    SSL_set_fd(ssl, socket);
    if (SSL_accept(ssl) == 1) {
      exchange([ssl](char* to, size_t size) { return SSL_read(ssl, to, static_cast<int>(size)); },
               [ssl](const char* from, size_t size) {
                 return SSL_write(ssl, from, static_cast<int>(size));
               },
               answer);
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
  }
  ::shutdown(socket, SHUT_RDWR);
}

std::string WebServer::response_to(const std::string& head, const std::string& body) {
  const size_t start = head.find(' ') + 1;
  const std::string path = head.substr(start, head.find(' ', start) - start);
  const std::scoped_lock lock(mutex_);
  asked_[path].heads.push_back(head);
  asked_[path].bodies.push_back(body);
  const auto found = answers_.find(path);
  return found == answers_.end() ? status("404 Not Found") : found->second;
}

std::string WebServer::json(const std::string& body, const std::string& fields) {
  return status("200 OK", "Content-Type: application/json\r\n" + fields, body);
}

std::string WebServer::status(const std::string& line, const std::string& fields,
                              const std::string& body) {
  return "HTTP/1.1 " + line +
         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         fields + "\r\n" + body;
}

}  // namespace stdgate::harness
