// RequestFields: the header fields that MCP's transport demands of requests, in each era.
// MarkedTools: those that repeat arguments of tools.
//
// Owner: a StreamableRemote, which passes the session in. Limit: kMaxSessionId bytes of an id.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/mcp/param_headers.h"
#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/web_client.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

// MarkedTools: the arguments of tools that a request repeats in header fields (MCP 2026-07-28,
// transports: custom headers from tool parameters), learnt from the lists that pass.
//
// Owner: a Remote. Limit: kMaxTools tools with such arguments. Arguments of further tools are not
// repeated, which the server will refuse.
class MarkedTools {
 public:
  static constexpr size_t kMaxTools = 1000;

  // Learns from an answer to tools/list.
  void learn(const rpc::Envelope& answer);
  // Whether the tool has such arguments.
  [[nodiscard]] bool knows(std::string_view tool) const { return tools_.contains(tool); }
  // Appends the header fields of a call of this tool. `params` is raw.
  void append_fields(std::string_view tool, std::string_view params,
                     std::vector<std::string>& fields) const;

 private:
  std::map<std::string, mcp::MarkedTool, std::less<>> tools_;
};

// The facts about a session that the heads of its requests state.
struct SessionTag {
  std::string id{};        // empty: the server gives no id, or there is no session
  std::string revision{};  // empty: not agreed on yet

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
  // `last_id`: the event after which the stream continues; empty: it begins now.
  [[nodiscard]] WebRequest listen(const SessionTag& session, const std::string& last_id) const;
  [[nodiscard]] WebRequest end(const SessionTag& session) const;

  // The id of the session in the response to a greeting; empty: none, or an invalid one.
  static std::string session_id_of(const WebHead& head);
  // Whether the client's last message was a modern one, without a session.
  [[nodiscard]] bool is_modern() const { return !modern_version_.empty(); }
  MarkedTools& tools() { return tools_; }

 private:
  void add_modern(const ClientMessage& message, WebRequest& request) const;
  void add_session(const SessionTag& session, WebRequest& request) const;
  void add_credentials(WebRequest& request) const;

  const std::string url_;
  const Authorizer& authorizer_;
  MarkedTools tools_;
  std::string modern_version_;  // the version that the client has named last
};

}  // namespace stdgate::remote
