#include "tests/integration/harness/raw_request.h"

#include <cstdlib>

#include "tests/integration/harness/http_client.h"

namespace stdgate::harness {

std::string raw_request(const std::string& method, const std::string& target,
                        const std::string& fields, const std::string& body) {
  std::string text = method + " " + target + " HTTP/1.1\r\n" + fields;
  if (!body.empty()) {
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "Connection: close\r\n\r\n" + body;
}

std::string answer_to(const std::string& url, const std::string& bytes) {
  HttpClient client(url);
  client.send(bytes);
  if (bytes.find("\r\nUpgrade: ") != std::string::npos) client.finish_sending();
  return client.read_to_end();
}

int status_of(const std::string& answer) {
  const size_t space = answer.find(' ');
  return space == std::string::npos ? 0 : std::atoi(answer.c_str() + space + 1);
}

}  // namespace stdgate::harness
