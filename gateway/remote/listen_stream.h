// ListenStream: the GET stream of an MCP session, on which a server sends messages that belong to
// no call.
//
// Whenever it ends, it is opened again after its last event, with pauses that grow while no event
// comes. Owner: a StreamableRemote, for the time of one session.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/remote/remote.h"
#include "gateway/remote/remote_stream.h"

namespace stdgate::remote {

class ListenStream final : private RemoteStream::Owner {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_listen_text(std::span<char> text) = 0;
    // The server has served this stream before, and does not know the session any more. The last
    // call.
    virtual void on_listen_gone() = 0;
    // The server has refused this stream from the beginning. The last call.
    virtual void on_listen_refused(const WebHead& /*head*/) {}
    virtual void on_unauthorized() = 0;
    // `last_id` may be empty.
    [[nodiscard]] virtual WebRequest listening(const std::string& last_id) = 0;
  };

  ListenStream(const RemoteServices& services, Owner& owner)
      : services_(services),
        owner_(owner),
        stream_(services.web, services.clock, services.timers, *this),
        backoff_(services.random),
        timer_(services.timers, [this] { open(); }) {}

  void open();
  void close();
  void pause() { stream_.pause(); }
  void resume() { stream_.resume(); }

 private:
  void on_stream_head(const WebHead& head) override;
  void on_stream_event(std::string_view name, std::span<char> data) override;
  void on_stream_end(const WebFailure* failure) override;

  const RemoteServices services_;
  Owner& owner_;
  RemoteStream stream_;
  Backoff backoff_;
  Timer timer_;
  bool was_open_ = false;
  bool is_closed_ = false;
};

}  // namespace stdgate::remote
