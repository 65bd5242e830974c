// RemotePost: one message of the client on its way to a server of MCP Streamable HTTP, until
// everything that belongs to it has come. RequestFields: the header fields of its requests.
//
// If a response is cut, it is continued by a GET with Last-Event-ID, if the server has given ids.
// The message itself is never sent again here. Owner: a StreamableRemote, which retires it in
// on_post_end(). Limit: kResumeTime without a response after a cut.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/mcp/param_headers.h"
#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
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

// RequestFields: the header fields that MCP's transport demands of requests, in each era.
//
// Owner: a StreamableRemote, which passes the session in. Limit: kMaxSessionId bytes of an id.
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

class StreamableRemote;

class RemotePost final : private RemoteStream::Owner {
 public:
  static constexpr Duration kResumeTime = std::chrono::seconds(30);

  // `wish`: belongs to a new session that replaces a lost one.
  enum class Origin : uint8_t { client, greeting, wish };
  enum class End : uint8_t {
    done,
    unsent,   // see failure()
    refused,  // see head() and body()
    lost,     // see why()
    gone,     // the session and the answer are lost
  };

  RemotePost(ClientMessage message, Origin origin, const RemoteServices& services,
             StreamableRemote& owner)
      : message_(std::move(message)),
        origin_(origin),
        services_(services),
        owner_(owner),
        unanswered_(message_.requests),
        stream_(services.web, services.clock, services.timers, *this),
        backoff_(services.random),
        resume_timer_(services.timers, [this] { resume_now(); }) {}

  void start(WebRequest request) { stream_.open(std::move(request)); }
  void close();
  void pause() { stream_.pause(); }
  void resume() { stream_.resume(); }
  // An answer to this request (raw id) has come.
  void answered(std::string_view id) { std::erase(unanswered_, id); }

  [[nodiscard]] ClientMessage& message() { return message_; }
  [[nodiscard]] const ClientMessage& message() const { return message_; }
  [[nodiscard]] Origin origin() const { return origin_; }
  [[nodiscard]] const std::vector<std::string>& unanswered() const { return unanswered_; }
  [[nodiscard]] const WebHead& head() const { return stream_.head(); }
  [[nodiscard]] std::string& body() { return stream_.body(); }
  [[nodiscard]] const WebFailure& failure() const { return failure_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  // Whether later messages have to wait for on_post_taken().
  [[nodiscard]] bool holds_others() const {
    return !is_taken_ && (!message_.is_request() || message_.is_greeting());
  }
  // The session of the message; set by the owner.
  SessionTag session;

 private:
  void on_stream_head(const WebHead& head) override;
  void on_stream_event(std::string_view name, std::span<char> data) override;
  void on_stream_end(const WebFailure* failure) override;
  void end_document();
  void end_resumption(const WebFailure* failure);
  void go_on(std::string why);
  void resume_now();
  void lose(std::string why);
  void note_taken();

  ClientMessage message_;
  const Origin origin_;
  const RemoteServices services_;
  StreamableRemote& owner_;
  std::vector<std::string> unanswered_;  // raw ids
  RemoteStream stream_;
  Backoff backoff_;
  Timer resume_timer_;
  TimePoint resume_until_{};
  WebFailure failure_;
  std::string why_;
  bool is_taken_ = false;
  bool is_resuming_ = false;  // the POST itself is over
  bool is_closed_ = false;
};

}  // namespace stdgate::remote
