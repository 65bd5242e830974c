// LinkRemote: a server behind a RemoteLink, which is opened with the client's first message.
//
// When the link breaks, calls under way get an error, because nothing is sent twice. The link is
// opened again, after pauses that grow, and the client's own greeting begins a new session of MCP.
// A session of another protocol (a language server) is lost with its link, because its state cannot
// be told again; so the program ends. Owner: the program between client and server. Limits: the
// limits of a MessageQueue, kReconnectTime for a link, kMaxAsked requests of the server.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_link.h"
#include "gateway/remote/session_memory.h"
#include "gateway/rpc/envelope.h"

namespace stdgate::remote {

class LinkRemote final : public Remote, private RemoteLink::Owner {
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

 private:
  enum class Phase : uint8_t { fresh, opening, renewing, open, waiting, over };

  void on_link_open() override;
  void on_link_text(std::span<char> text) override;
  void on_link_room() override;
  void on_link_lost(const ClientMessage& message, const Problem& problem) override;
  void on_link_end(const LinkEnd& end) override;

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
