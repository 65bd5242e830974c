// HttpRemote: an MCP server over HTTP, with either of MCP's HTTP transports.
//
// Tries Streamable HTTP first. If the server refuses the greeting there, tries the transport of
// 2024-11-05 (MCP 2025-11-25, transports: backwards compatibility). Owner: the program between
// client and server.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "gateway/remote/remote.h"
#include "gateway/remote/streamable_remote.h"

namespace stdgate::remote {

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
