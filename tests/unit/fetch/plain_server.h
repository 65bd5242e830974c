// PlainServer: accepts connections on this machine, and keeps the received bytes. The test writes
// the answers itself.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/net/stream_pair.h"
#include "transports/net/listener.h"
#include "transports/net/loop.h"

namespace stdgate::test {

class PlainServer final : private net::ListenerEvents {
 public:
  explicit PlainServer(net::Loop& loop)
      : listener_(*net::Listener::open(loop, *Address::parse("127.0.0.1:0"), *this)) {}

  [[nodiscard]] std::string url() const { return "http://" + listener_->address().to_string(); }
  [[nodiscard]] uint16_t port() const { return listener_->address().port; }
  [[nodiscard]] size_t connections() const { return peers_.size(); }
  // The peer that connected last.
  [[nodiscard]] StreamOwner& last() { return *peers_.back(); }
  // How often `text` occurs in the received bytes of all peers.
  [[nodiscard]] size_t count(const std::string& text) const {
    size_t count = 0;
    for (const auto& peer : peers_) {
      for (size_t at = 0; (at = peer->bytes.find(text, at)) != std::string::npos; ++at) ++count;
    }
    return count;
  }

  bool reads = true;                                // false: peers are not read
  std::function<void(StreamOwner&)> on_bytes = {};  // called after bytes of a peer

 private:
  void on_connection(net::Listener& listener) override {
    auto peer = std::make_unique<StreamOwner>();
    int error = 0;
    peer->stream = listener.accept(*peer, &error);
    ASSERT_EQ(error, 0);
    peer->bytes_hook = [this, one = peer.get()] {
      if (on_bytes) on_bytes(*one);
    };
    if (reads) peer->read();
    peers_.push_back(std::move(peer));
  }

  std::unique_ptr<net::Listener> listener_;
  std::vector<std::unique_ptr<StreamOwner>> peers_;
};

}  // namespace stdgate::test
