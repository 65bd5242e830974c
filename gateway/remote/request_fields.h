// RequestFields: what MCP's transport wants in the heads of requests, in each era.
//
// Owner: a StreamableRemote, which tells it of the session. Limit: kMaxSessionId bytes of an id.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "gateway/remote/client_message.h"
#include "gateway/remote/marked_tools.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/web_client.h"

namespace stdgate::remote {

// A session as the heads of its requests name it.
struct SessionTag {
  std::string id{};        // empty: the server gives none, or there is no session
  std::string revision{};  // empty: not agreed on

  friend bool operator==(const SessionTag&, const SessionTag&) = default;
};

class RequestFields {
 public:
  static constexpr size_t kMaxSessionId = 4096;
  static constexpr Duration kGreetingTime = std::chrono::seconds(55);
  static constexpr Duration kNoticeTime = std::chrono::seconds(30);

  RequestFields(std::string url, const Authorizer& authorizer)
      : url_(std::move(url)), authorizer_(authorizer) {}

  [[nodiscard]] WebRequest post(const ClientMessage& message, const SessionTag& session);
  // `last_id`: of the event to go on behind; empty: from now on.
  [[nodiscard]] WebRequest listen(const SessionTag& session, const std::string& last_id) const;
  [[nodiscard]] WebRequest end(const SessionTag& session) const;

  // The id of the session that a greeting was answered with; empty: none, or one that may not be.
  static std::string session_id_of(const WebHead& head);
  // The client has spoken without a session, and not in one since.
  [[nodiscard]] bool is_modern() const { return !modern_version_.empty(); }
  MarkedTools& tools() { return tools_; }

 private:
  void add_modern(const ClientMessage& message, WebRequest& request) const;
  void add_session(const SessionTag& session, WebRequest& request) const;
  void add_credentials(WebRequest& request) const;

  const std::string url_;
  const Authorizer& authorizer_;
  MarkedTools tools_;
  std::string modern_version_;  // that the client named last
};

}  // namespace stdgate::remote
