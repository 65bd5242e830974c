// EventReader: reads server-sent events (WHATWG HTML, section 9.2.6) from bytes that are cut
// anywhere.
//
// Owner: the code that reads a response. No I/O. Limits: `max_event` bytes of one event, kMaxId
// bytes of an id; a longer id counts as none. If the stream ends within an event, the event is
// dropped, as the standard says, and the id of the last complete event stays known.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stdgate::remote {

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

}  // namespace stdgate::remote
