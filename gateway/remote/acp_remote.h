// AcpRemote: an agent over ACP's Streamable HTTP (RFD: Streamable HTTP and WebSocket transport).
//
// `initialize` is answered in its POST, which names the connection. All else is posted one message
// after the other, and answered on streams: one of the connection, and one of each session that the
// client names. When the network breaks, the streams go on behind the last event that has come, so
// the agent and what it says meanwhile are not lost. A message that could not be sent is sent
// later; one that may have arrived is not sent again. When the server does not know the connection
// any more, the program ends, because the agent's state cannot be told again. Owner: the program
// between client and server. Limits: those of a MessageQueue, kMaxSessions streams, kMaxAsked
// requests of the agent, kReconnectTime for a connection, kInitializeTime and kPostTime for a POST.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

class AcpRemote final : public Remote, private RemoteStream::Owner {
 public:
  static constexpr size_t kMaxSessions = 256;
  static constexpr size_t kMaxId = 4096;  // bytes of a session's or the connection's
  static constexpr size_t kMaxAsked = 1024;
  static constexpr Duration kReconnectTime = std::chrono::seconds(30);
  static constexpr Duration kInitializeTime = std::chrono::minutes(10);
  static constexpr Duration kPostTime = std::chrono::seconds(30);

  AcpRemote(std::string url, const RemoteServices& services);
  ~AcpRemote() override;

  void take(ClientMessage message) override;
  [[nodiscard]] bool is_full() const override { return queue_.is_full(); }
  [[nodiscard]] bool is_answered() const override {
    return calls_.empty() && queue_.empty() && !posted_;
  }
  void pause() override;
  void resume() override;
  void close(std::function<void()> done) override;

 private:
  class Channel;
  using Renewed = tl::expected<void, std::string>;  // a credential; else why not
  struct Call {
    bool begins_session = false;
  };

  // Of the POST under way, and of the DELETE at the end.
  void on_stream_head(const WebHead& /*head*/) override {}
  void on_stream_event(std::string_view /*name*/, std::span<char> /*data*/) override {}
  void on_stream_end(const WebFailure* failure) override;

  void post_next();
  void post_again(ClientMessage message);
  void end_unanswered(ClientMessage message, const WebFailure* failure);
  void end_refused(ClientMessage message);
  [[nodiscard]] bool note_greeting();
  [[nodiscard]] bool is_error(std::span<char> text);
  void read(std::span<char> text);
  void forward(const rpc::Envelope& envelope);
  void listen(const std::string& session);
  void renew(std::function<void(const Renewed&)> done);
  void on_connection_gone();
  void fail(const ClientMessage& message, const Problem& problem);
  void leave(const Problem& problem);
  void end_streams();
  [[nodiscard]] WebRequest request_of(WebMethod method, const std::string& session) const;
  [[nodiscard]] TimePoint now() const { return services_.clock.now(); }

  const std::string url_;
  const RemoteServices services_;
  rpc::EnvelopeParser parser_;
  MessageQueue queue_;
  RemoteStream post_;
  std::optional<ClientMessage> posted_;  // the one under way
  std::string connection_;               // its id; empty: not known yet
  // By session; the empty name is the connection's.
  std::map<std::string, std::unique_ptr<Channel>> channels_;
  std::unordered_map<std::string, Call> calls_;  // by raw id: what the client waits for
  std::unordered_set<std::string> asked_;        // raw ids of the agent's requests
  Backoff backoff_;
  Timer retry_timer_;  // while it is armed, nothing is posted
  std::function<void()> gone_;
  bool is_over_ = false;
  bool is_paused_ = false;
  bool is_cut_off_ = false;  // people have been told so
  bool is_renewing_ = false;
  bool has_new_credentials_ = false;
};

}  // namespace stdgate::remote
