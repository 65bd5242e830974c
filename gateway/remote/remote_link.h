// RemoteLink: one connection for both directions between client and server. Sent messages arrive in
// order, and received messages belong to no request of the transport.
//
// Implemented for MCP's HTTP and SSE of 2024-11-05 (SseLink) and for WebSockets
// (transports/websocket). Owner: a LinkRemote. The Owner interface is called from the outermost
// level of the loop, never from within a call on the link.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "gateway/remote/client_message.h"
#include "gateway/remote/problem.h"

namespace stdgate::remote {

struct LinkEnd {
  Problem problem;
  int status = 0;  // HTTP status of a refusal; 0: another reason
};

class RemoteLink {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_link_open() = 0;
    virtual void on_link_text(std::span<char> text) = 0;
    // is_full() may have become false.
    virtual void on_link_room() = 0;
    // The server has not taken this message, or it is not known whether it has.
    virtual void on_link_lost(const ClientMessage& message, const Problem& problem) = 0;
    // The link is closed, and may be opened again.
    virtual void on_link_end(const LinkEnd& end) = 0;
  };

  virtual ~RemoteLink() = default;
  // `is_mcp`: whether the client speaks MCP.
  virtual void open(Owner& owner, bool is_mcp) = 0;
  // Only while the link is open.
  virtual void send(const ClientMessage& message) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual void close() = 0;
};

}  // namespace stdgate::remote
