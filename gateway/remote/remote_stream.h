// RemoteStream: a request and its response: messages as events, one document, or a refusal.
// EventReader: its events. ListenStream: the one that a session listens with.
//
// Owner: the code that sends the request. After the end it may open() another request, which
// continues after the last event. Limits: kMaxMessage bytes of an event or a document. Of the body
// of a refusal, kMaxRefusal bytes are read, for kRefusalTime at most.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/base/time.h"
#include "gateway/remote/remote.h"
#include "gateway/remote/web_client.h"

namespace stdgate::remote {

// EventReader: reads server-sent events (WHATWG HTML, section 9.2.6) from bytes that are cut
// anywhere.
//
// Owner: the code that reads a response. No I/O. Limits: `max_event` bytes of one event, kMaxId
// bytes of an id; a longer id counts as none. If the stream ends within an event, the event is
// dropped, as the standard says, and the id of the last complete event stays known.
class EventReader {
 public:
  static constexpr size_t kMaxId = 1024;
  // The longest wait that a server may ask a client for.
  static constexpr std::chrono::milliseconds kMaxRetry{60'000};

  class Sink {
   public:
    virtual ~Sink() = default;
    // `name` is "message" if the server has not named the event. `data` may be changed, and is
    // valid during the call. Events without data are not passed on.
    virtual void on_event(std::string_view name, std::span<char> data) = 0;
  };

  explicit EventReader(size_t max_event) : max_event_(max_event) {}

  // False: an event is too long, and no more bytes are taken.
  bool feed(std::string_view bytes, Sink& sink);
  // Another response follows, which continues after the last id.
  void restart();
  // The next response begins a new stream.
  void forget() {
    id_.clear();
    last_id_.clear();
  }

  // The id of the last complete event; empty: it had none.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  // The wait before the next connection that the server has asked for; returned once.
  std::optional<std::chrono::milliseconds> take_retry();

 private:
  [[nodiscard]] bool append(std::string_view part);
  void end_line(Sink& sink);
  void take_field(std::string_view name, std::string_view value);
  void dispatch(Sink& sink);

  const size_t max_event_;
  std::string line_;
  std::string name_;
  std::string data_;  // each line ends with a line feed
  std::string id_;    // of the events that follow
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  bool begins_ = true;     // no line has ended
  bool skips_lf_ = false;  // the last byte was a CR
  bool is_too_long_ = false;
};

class RemoteStream final : private WebEvents, private EventReader::Sink {
 public:
  static constexpr size_t kMaxMessage = 64 << 20;
  static constexpr size_t kMaxRefusal = 16 << 10;
  static constexpr Duration kRefusalTime = std::chrono::seconds(2);

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_stream_head(const WebHead& head) = 0;
    virtual void on_stream_event(std::string_view name, std::span<char> data) = 0;
    // Null: the response is complete. The last call; it may open() the stream again.
    virtual void on_stream_end(const WebFailure* failure) = 0;
  };

  RemoteStream(WebClient& web, const Clock& clock, TimerQueue& timers, Owner& owner,
               size_t max_message = kMaxMessage)
      : web_(web),
        clock_(clock),
        owner_(owner),
        max_message_(max_message),
        refusal_timer_(timers, [this] { on_end(nullptr); }),
        events_(max_message) {}
  RemoteStream(const RemoteStream&) = delete;
  RemoteStream& operator=(const RemoteStream&) = delete;

  void open(WebRequest request);
  void close() { end_transfer(); }
  void pause();
  void resume();

  // Head of the last response; status 0: no head has come.
  [[nodiscard]] const WebHead& head() const { return head_; }
  [[nodiscard]] bool has_events() const { return has_events_; }
  // Body of a response that is no event stream.
  [[nodiscard]] std::string& body() { return body_; }
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] EventReader& events() { return events_; }

 private:
  void on_head(const WebHead& head) override;
  void on_body(std::string_view bytes) override;
  void on_end(const WebFailure* failure) override;
  void on_event(std::string_view name, std::span<char> data) override;
  void end_transfer();

  WebClient& web_;
  const Clock& clock_;
  Owner& owner_;
  const size_t max_message_;
  Timer refusal_timer_;
  EventReader events_;
  WebHead head_;
  std::string body_;
  std::unique_ptr<WebTransfer> transfer_;
  bool has_events_ = false;
  bool is_paused_ = false;
};

// ListenStream: the GET stream of an MCP session, on which a server sends messages that belong to
// no call.
//
// Whenever it ends, it is opened again after its last event, with pauses that grow while no event
// comes. Owner: a StreamableRemote, for the time of one session.
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
