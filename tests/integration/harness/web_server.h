// WebServer: an HTTP or HTTPS server in the test, with right or wrong answers that the test
// chooses.
//
// Listens on a free port of 127.0.0.1. Answers one request per connection, each in its own thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_certificates.h"

struct ssl_ctx_st;

namespace stdgate::harness {

class WebServer {
 public:
  // A server with a credential speaks HTTPS.
  explicit WebServer(const test::Credential& credential = {});
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }  // http://127.0.0.1:40123
  // Sets the whole response for a path, from now on. Empty: requests are never answered.
  void answer(const std::string& path, std::string response);
  // The number of requests for this path.
  [[nodiscard]] size_t count(const std::string& path) const;
  // The heads and bodies of the requests for this path so far.
  [[nodiscard]] std::vector<std::string> heads(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> bodies(const std::string& path) const;
  // Accepts no more connections.
  void die();

  static std::string json(const std::string& body, const std::string& fields = "");
  static std::string status(const std::string& line, const std::string& fields = "",
                            const std::string& body = "");

 private:
  void accept_all();
  void serve(int socket);
  std::string response_to(const std::string& head, const std::string& body);

  int socket_ = -1;
  std::string url_;
  ssl_ctx_st* tls_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  struct Asked {
    std::vector<std::string> heads;
    std::vector<std::string> bodies;
  };
  std::map<std::string, Asked> asked_;  // by path
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace stdgate::harness
