// HttpRemote: an MCP server over HTTP, with either of MCP's HTTP transports.
//
// Tries Streamable HTTP first. If the server refuses the greeting there, tries the transport of
// 2024-11-05 (MCP 2025-11-25, transports: backwards compatibility), a LinkRemote on an SseLink.
// Owner: the program between client and server.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "gateway/remote/link_remote.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"
#include "gateway/remote/streamable_remote.h"

namespace stdgate::remote {

// SseLink: MCP's HTTP and SSE of 2024-11-05. The first event of a GET stream names the URL for
// POSTs; their answers come on the stream.
//
// Messages are posted one after the other. The URL for POSTs must have the same origin, because
// these requests carry the client's credentials. Owner: a LinkRemote. Limits: kEndpointTime for the
// first event, kMaxWaiting bytes that wait to be posted (is_full()).
class SseLink final : public RemoteLink, private RemoteStream::Owner {
 public:
  static constexpr Duration kEndpointTime = std::chrono::seconds(10);
  static constexpr Duration kPostTime = std::chrono::seconds(30);
  static constexpr size_t kMaxWaiting = 64 << 20;

  SseLink(std::string url, const RemoteServices& services);
  ~SseLink() override;

  void open(LinkRemote& owner, bool is_mcp) override;
  void send(const ClientMessage& message) override;
  [[nodiscard]] bool is_full() const override { return waiting_bytes_ >= kMaxWaiting; }
  void pause() override { stream_.pause(); }
  void resume() override { stream_.resume(); }
  void close() override;

 private:
  class Post;

  void on_stream_head(const WebHead& /*head*/) override {}
  void on_stream_event(std::string_view name, std::span<char> data) override;
  void on_stream_end(const WebFailure* failure) override;

  void take_endpoint(std::string_view text);
  void post_next();
  void end_post(const WebFailure* failure);
  void end(const LinkEnd& end);

  const std::string url_;
  const RemoteServices services_;
  LinkRemote* owner_ = nullptr;  // while it is open
  RemoteStream stream_;
  const std::unique_ptr<Post> post_;
  Timer endpoint_timer_;
  std::string endpoint_;
  std::deque<ClientMessage> waiting_;  // while post_ is at work, the first one is being posted
  size_t waiting_bytes_ = 0;
};

// Resolves a reference against a URL of the same origin (RFC 3986 section 5); empty: the reference
// leads to another origin.
std::string same_origin_url(std::string_view base, std::string_view reference);

class HttpRemote final : public Remote {
 public:
  HttpRemote(std::string url, const RemoteServices& services);

  void take(ClientMessage message) override { current().take(std::move(message)); }
  [[nodiscard]] bool is_full() const override { return current().is_full(); }
  [[nodiscard]] bool is_answered() const override { return current().is_answered(); }
  void pause() override;
  void resume() override;
  void close(std::function<void()> done) override { current().close(std::move(done)); }

 private:
  [[nodiscard]] Remote& current() const { return old_ != nullptr ? *old_ : *streamable_; }
  void fall_back(std::deque<ClientMessage> messages, const Problem& problem);

  const std::string url_;
  const RemoteServices services_;
  std::unique_ptr<StreamableRemote> streamable_;
  std::unique_ptr<Remote> old_;
  bool is_paused_ = false;
};

}  // namespace stdgate::remote
