// LinkRemote: a server behind a RemoteLink, which is opened with the client's first message.
//
// When the link breaks, calls under way get an error, because nothing is sent twice. The link is
// opened again, after pauses that grow, and the client's own greeting begins a new session of MCP.
// A session of another protocol (a language server) is lost with its link, because its state cannot
// be told again; so the program ends. Where the server itself finishes a session of another
// protocol and no call is open, nothing is lost, and the program ends cleanly. Owner: the program
// between client and server. Limits: the limits of a MessageQueue, kReconnectTime for a link,
// kMaxAsked requests of the server.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

// Why a link has ended, or could not be opened.
struct LinkEnd {
  Problem problem;
  int status = 0;  // HTTP status of a refusal; 0: another reason
  // The server has ended it as what was to be done is done (RFC 6455, close code 1000).
  bool is_finished = false;
};

class LinkRemote;

// RemoteLink: one connection for both directions between client and server. Sent messages arrive in
// order, and received messages belong to no request of the transport.
//
// Implemented for MCP's HTTP and SSE of 2024-11-05 (SseLink) and for WebSockets
// (transports/websocket). Owner: a LinkRemote, which is called from the outermost level of the
// loop, never from within a call on the link.
class RemoteLink {
 public:
  virtual ~RemoteLink() = default;
  // `is_mcp`: whether the client speaks MCP.
  virtual void open(LinkRemote& owner, bool is_mcp) = 0;
  // Only while the link is open.
  virtual void send(const ClientMessage& message) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual void close() = 0;
};

class LinkRemote final : public Remote {
 public:
  static constexpr size_t kMaxAsked = 1024;
  static constexpr Duration kReconnectTime = std::chrono::seconds(30);

  // `url`: for people. `fallback_from`: how the server has refused the other transport. The client
  // is told this if no link can be opened either; with an empty message it does not apply.
  LinkRemote(std::string url, std::unique_ptr<RemoteLink> link, const RemoteServices& services,
             Problem fallback_from = {});

  void take(ClientMessage message) override;
  [[nodiscard]] bool is_full() const override { return queue_.is_full() || link_->is_full(); }
  [[nodiscard]] bool is_answered() const override { return calls_.empty() && queue_.empty(); }
  void pause() override { link_->pause(); }
  void resume() override { link_->resume(); }
  void close(std::function<void()> done) override;

  // --- Called by the link
  void on_link_open();
  void on_link_text(std::span<char> text);
  // is_full() of the link may have become false.
  void on_link_room();
  // The server has not taken this message, or it is not known whether it has.
  void on_link_lost(const ClientMessage& message, const Problem& problem);
  // The link is closed, and may be opened again.
  void on_link_end(const LinkEnd& end);

 private:
  enum class Phase : uint8_t { fresh, opening, renewing, open, waiting, over };

  void open();
  void send(const ClientMessage& message);
  void flush();
  void forward(const rpc::Envelope& envelope);
  bool take_own_answer(const rpc::Envelope& envelope);
  void renew();
  void renewed();
  void lose_calls(const Problem& problem);
  void fail(const ClientMessage& message, const Problem& problem);
  void leave(const Problem& problem);
  void finish();
  void expire();
  void arm_expiry();
  [[nodiscard]] TimePoint now() const { return services_.clock.now(); }

  const std::string url_;
  const RemoteServices services_;
  const std::unique_ptr<RemoteLink> link_;
  const Problem fallback_from_;
  rpc::EnvelopeParser parser_;
  Phase phase_ = Phase::fresh;
  MessageQueue queue_;
  std::unordered_set<std::string> calls_;  // raw ids of the client's requests under way
  std::unordered_set<std::string> asked_;  // raw ids of the server's requests
  std::unordered_set<std::string> own_;  // raw ids of requests that are repeated for a new session
  SessionMemory memory_;
  std::string greeting_id_;  // raw, while its answer is awaited
  Backoff backoff_;
  Timer open_timer_;
  Timer expiry_timer_;
  bool is_mcp_ = false;
  bool is_known_ = false;           // the link has been open
  bool has_other_session_ = false;  // a greeting of another protocol was sent
  bool has_new_credentials_ = false;
};

}  // namespace stdgate::remote
