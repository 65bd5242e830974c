// WebClient: requests to a web server, whose responses are read as they come.
//
// Implemented by transports/fetch, and by tests in memory. Contract: a WebTransfer belongs to the
// caller; destroying it aborts the transfer. WebEvents are called from the outermost level of the
// loop, never from within start(). They may destroy the transfer, and start others. on_head() comes
// at most once; on_end() comes once, as the last event. Redirects are not followed, and no request
// is sent twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/base/time.h"

namespace stdgate::remote {

enum class WebMethod : uint8_t { get, post, del };

struct WebRequest {
  WebMethod method = WebMethod::get;
  std::string url;
  std::vector<std::string> fields{};  // "Name: value"
  std::string body{};                 // of a POST
  Duration time{0};                   // for the whole transfer; zero: no limit
};

// The status and the header fields of a response.
struct WebHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> fields{};  // names in lower case

  // The first field with this name, which must be lower-case; empty: none.
  [[nodiscard]] std::string_view find(std::string_view name) const;
  [[nodiscard]] bool is_success() const { return status / 100 == 2; }
  // Whether the body is of this type, with any parameters.
  [[nodiscard]] bool has_type(std::string_view type) const;
};

// Why a request has got no whole response.
struct WebFailure {
  enum class Kind : uint8_t {
    unresolved,   // the name of the server
    unconnected,  // no connection, or not in time
    untrusted,    // TLS
    timeout,
    too_large,  // the response exceeds a limit
    cut,
  };
  Kind kind = Kind::cut;
  std::string detail{};
  // The server may have received the whole request, and acted on it.
  bool may_be_sent = true;
};

class WebEvents {
 public:
  virtual ~WebEvents() = default;
  virtual void on_head(const WebHead& head) = 0;
  virtual void on_body(std::string_view bytes) = 0;
  // Null: the response is complete.
  virtual void on_end(const WebFailure* failure) = 0;
};

class WebTransfer {
 public:
  virtual ~WebTransfer() = default;
  // Stops reading and events until resume().
  virtual void pause() = 0;
  virtual void resume() = 0;
};

class WebClient {
 public:
  virtual ~WebClient() = default;
  virtual std::unique_ptr<WebTransfer> start(WebRequest request, WebEvents& events) = 0;
};

}  // namespace stdgate::remote
