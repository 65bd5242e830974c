// StreamableRemote: a server of MCP Streamable HTTP. The client's messages decide which era is
// spoken.
//
// Messages are sent in their order. Messages that follow a notification, a response or `initialize`
// wait until the server has taken it; requests do not wait for each other. A message is sent later
// if no connection could be made, or if it was refused because its session has gone. A message that
// was sent is not sent again, except subscriptions/listen, which changes nothing at the server. If
// the session has gone (404), the client's own greeting begins a new one. Where the client's first
// greeting is answered with a fault of a gateway, the program ends. Owner: an HttpRemote.
// Limits: kMaxPosts requests under way, the limits of a MessageQueue, kReconnectTime for a
// connection, RequestFields::kGreetingTime for an answer to `initialize`,
// RequestFields::kNoticeTime for messages without an answer, kMaxAsked requests of the server.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_post.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

class StreamableRemote final : public Remote, private ListenStream::Owner {
 public:
  static constexpr size_t kMaxPosts = 128;
  static constexpr size_t kMaxAsked = 1024;
  static constexpr uint32_t kMaxRefusals = 2;
  static constexpr Duration kReconnectTime = std::chrono::seconds(30);
  static constexpr Duration kLateTime = std::chrono::seconds(1);

  // The server has refused the greeting in a way that suggests the transport of 2024-11-05. Hands
  // over the greeting with the messages behind it, and the refusal. This object is not used any
  // more.
  using FallBack = std::function<void(std::deque<ClientMessage> messages, const Problem& problem)>;

  StreamableRemote(std::string url, const RemoteServices& services, FallBack fall_back);
  ~StreamableRemote() override;

  void take(ClientMessage message) override;
  [[nodiscard]] bool is_full() const override { return queue_.is_full(); }
  [[nodiscard]] bool is_answered() const override { return posts_.empty() && queue_.empty(); }
  void pause() override;
  void resume() override;
  void close(std::function<void()> done) override;

  // --- Called by posts
  // The server has the message, so messages that follow it may be sent.
  void on_post_taken(RemotePost& post);
  void on_post_text(RemotePost& post, std::span<char> text);
  void on_post_end(RemotePost& post, RemotePost::End end);
  [[nodiscard]] WebRequest resumption(const RemotePost& post, const std::string& last_id) {
    return fields_.listen(post.session, last_id);
  }
  // A resumption was refused with 401, and will be tried again.
  void on_unauthorized() override { ask_authorizer(); }

 private:
  using Post = std::unique_ptr<RemotePost>;
  enum class Phase : uint8_t {
    open,
    waiting,   // for the next attempt to connect
    asking,    // the authorizer for a new credential
    renewing,  // replacing a session that has gone
    over,
  };
  class Farewell;

  void on_listen_text(std::span<char> text) override;
  void on_listen_gone() override { session_gone(); }
  WebRequest listening(const std::string& last_id) override {
    return fields_.listen(session_, last_id);
  }

  // Sending
  bool take_cancel(const ClientMessage& message);
  void pump();
  std::optional<ClientMessage> next_message();
  void send(ClientMessage message, RemotePost::Origin origin);
  void expire();
  void arm_expiry();

  // Received messages
  void forward(const rpc::Envelope& envelope, RemotePost* post);
  void take_answer(const rpc::Envelope& envelope, RemotePost* post);
  void note_greeting(const rpc::Envelope& envelope, RemotePost& post);
  void take_text(std::span<char> text, RemotePost* post);

  // The end of a message
  RemotePost& take_out(RemotePost& post);
  void end_unsent(RemotePost& post);
  void end_refused(RemotePost& post);
  void end_lost(RemotePost& post);
  bool retry_refused(RemotePost& post);
  bool pass_error_on(RemotePost& post);
  void fail(const ClientMessage& message, const Problem& problem);
  void fail_queued(const Problem& problem);
  void leave(const Problem& problem);

  // The session
  void session_gone();
  void renew();
  void send_wishes();
  void end_renewal(RemotePost& post, RemotePost::End end);
  void end_renewed_greeting(RemotePost& post, RemotePost::End end);
  void open_listen();
  void close_listen();
  void wait();
  void wake();
  void ask_authorizer();
  [[nodiscard]] TimePoint now() const { return services_.clock.now(); }

  const std::string url_;
  const RemoteServices services_;
  const FallBack fall_back_;
  rpc::EnvelopeParser parser_;
  Phase phase_ = Phase::open;
  MessageQueue queue_;
  RequestFields fields_;
  SessionTag session_;
  std::map<const RemotePost*, Post> posts_;
  // These are destroyed outside their own calls.
  std::vector<Post> retired_;
  std::vector<std::unique_ptr<ListenStream>> retired_listens_;
  std::unordered_map<std::string, RemotePost*> calls_;  // by raw ids of unanswered requests
  std::unordered_set<std::string> asked_;               // raw ids of the server's requests
  SessionMemory memory_;
  std::unordered_set<std::string> listings_;  // raw ids of tools/list under way
  std::unique_ptr<ListenStream> listen_;
  std::vector<ClientMessage> wishes_;  // messages that are still to be sent in a new session
  std::unique_ptr<Farewell> farewell_;
  Backoff backoff_;
  Timer wake_timer_;
  Timer expiry_timer_;
  Timer late_timer_;  // the greeting has no answer yet
  Timer retire_timer_;
  bool is_known_ = false;  // the server has answered a request
  bool is_paused_ = false;
  bool has_lost_session_ = false;  // and has not begun a new one
};

}  // namespace stdgate::remote
