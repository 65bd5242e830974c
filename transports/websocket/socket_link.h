// SocketLink: a WebSocket to a server, one JSON-RPC message a text frame, as a RemoteLink.
//
// Owner: a LinkRemote. Limits: kMaxHead bytes of the answer to the handshake, which has
// kHandshakeTime; kMaxMessage bytes of a message; kMaxUnsent bytes that the server has not read
// (is_full()). A server that is silent for kPulse gets a ping, and is given up after another
// kPulse.
#pragma once

#include <memory>
#include <string>

#include "gateway/remote/link_remote.h"
#include "gateway/remote/remote.h"
#include "transports/fetch/curl_web_client.h"
#include "transports/websocket/message_reader.h"

namespace stdgate::websocket {

class SocketLink final : public remote::RemoteLink,
                         private fetch::CurlConnection::Events,
                         private MessageSink {
 public:
  static constexpr size_t kMaxHead = 64 << 10;
  static constexpr size_t kMaxMessage = 64 << 20;
  static constexpr size_t kMaxUnsent = 16 << 20;
  static constexpr Duration kHandshakeTime = std::chrono::seconds(10);
  static constexpr Duration kPulse = std::chrono::seconds(30);

  // `url`: ws://… or wss://….
  SocketLink(std::string url, const remote::RemoteServices& services, fetch::CurlWebClient& web,
             net::Loop& loop);
  ~SocketLink() override;

  void open(remote::LinkRemote& owner, bool is_mcp) override;
  void send(const remote::ClientMessage& message) override;
  [[nodiscard]] bool is_full() const override;
  void pause() override;
  void resume() override;
  void close() override;

 private:
  // fetch::CurlConnection::Events
  void on_connected() override;
  void on_bytes(std::span<char> bytes) override;
  void on_sent() override {
    if (owner_ != nullptr && is_open_) owner_->on_link_room();
  }
  void on_closed(const remote::WebFailure& failure) override;
  // MessageSink
  bool on_message(std::span<char> text) override;
  bool on_ping(std::string_view payload) override;
  void on_close(CloseCode code, std::string_view reason) override;

  void take_head(std::span<char> bytes);
  void read_messages(std::span<char> bytes);
  void write(Opcode opcode, std::string_view payload);
  void end(const remote::LinkEnd& end);
  void fail(const std::string& why, bool is_finished = false);
  void watch_pulse();

  const std::string url_;
  const std::string web_url_;  // the same of http
  const remote::RemoteServices services_;
  fetch::CurlWebClient& web_;
  net::Loop& loop_;
  remote::LinkRemote* owner_ = nullptr;
  std::unique_ptr<fetch::CurlConnection> connection_;
  std::unique_ptr<MessageReader> reader_;
  std::string key_;
  std::string protocol_;
  std::string head_;  // of the answer to the handshake, as far as it has come
  Timer timer_;       // of the handshake, then of the pulse
  bool is_open_ = false;
  bool is_paused_ = false;
  bool is_asked_ = false;  // for a sign of life
};

}  // namespace stdgate::websocket
