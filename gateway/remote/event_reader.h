// EventReader: server-sent events (WHATWG HTML, section 9.2.6), read from bytes cut anywhere.
//
// Owner: whoever reads a response. No I/O. Limits: `max_event` bytes of one event, kMaxId of an id;
// an id that is longer counts as none. An event that the stream ends in is dropped, as the standard
// says; the id of the last one that was complete stays known.
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
  // A server may ask a client to wait so long, not longer.
  static constexpr std::chrono::milliseconds kMaxRetry{60'000};

  class Sink {
   public:
    virtual ~Sink() = default;
    // `name` is "message" where the server has not named it. The bytes may be changed, and are
    // valid during the call. Events without data are not told.
    virtual void on_event(std::string_view name, std::span<char> data) = 0;
  };

  explicit EventReader(size_t max_event) : max_event_(max_event) {}

  // False: an event is too long, and nothing more is taken.
  bool feed(std::string_view bytes, Sink& sink);
  // Another response follows, which goes on behind the last id.
  void restart();
  // The next one begins anew.
  void forget() {
    id_.clear();
    last_id_.clear();
  }

  // Of the last complete event; empty: it had none.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  // What the server asks to wait for before the next connection; once.
  std::optional<std::chrono::milliseconds> take_retry();

 private:
  [[nodiscard]] bool append(std::string_view part);
  void end_line(Sink& sink);
  void take_field(std::string_view name, std::string_view value);
  void dispatch(Sink& sink);

  const size_t max_event_;
  std::string line_;
  std::string name_;
  std::string data_;  // a line feed behind each line
  std::string id_;    // of events from now on
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  bool begins_ = true;     // no line has ended
  bool skips_lf_ = false;  // the last byte was a CR
  bool is_too_long_ = false;
};

}  // namespace stdgate::remote
