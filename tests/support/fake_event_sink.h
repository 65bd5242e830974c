// FakeEventSink: the response to one HTTP request of a session, in memory. The sink keeps what it
// receives, and fails the test if it is used after its end.
//
// A test can make the sink report that it is backed up. `during` runs inside each call, so that the
// client can leave in the middle of a call.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/session/sinks.h"

namespace stdgate::test {

class FakeEventSink final : public session::EventSink {
 public:
  struct Event {
    std::string name;
    std::string id;
    std::string data;
    unsigned retry_ms = 0;
  };
  FakeEventSink() = default;
  FakeEventSink(const FakeEventSink&) = delete;
  FakeEventSink& operator=(const FakeEventSink&) = delete;

  void respond(std::span<const std::string_view> text) override {
    expect_open();
    EXPECT_FALSE(streaming) << "a stream cannot become a document";
    over = true;
    json = join(text);
    act();
  }
  void respond_scope(std::span<const std::string_view> text, std::string_view needed) override {
    scope = needed;
    respond(text);
  }
  void begin_stream() override {
    expect_open();
    streaming = true;
    act();
  }
  void write_event(const session::StreamEvent& event) override {
    expect_open();
    streaming = true;
    events.push_back(
        {std::string(event.name), std::string(event.id), join(event.data), event.retry_ms});
    act();
  }
  void end_stream() override {
    expect_open();
    streaming = true;
    over = ended = true;
    act();
  }
  [[nodiscard]] bool is_backed_up() const override {
    expect_open();
    return backed_up;
  }

  // The client has left; the sink must not be used any more.
  void leave() { over = true; }

  // The data of the events since the last take, without priming events.
  std::vector<std::string> take() {
    std::vector<std::string> texts;
    for (const Event& event : std::exchange(events, {})) {
      if (!event.data.empty()) texts.push_back(event.data);
    }
    return texts;
  }

  std::vector<Event> events;
  std::optional<std::string> json;
  std::string scope;  // sent with `json`
  bool streaming = false;
  bool ended = false;  // by end_stream()
  bool over = false;   // for any reason
  bool backed_up = false;
  std::function<void()> during;

 private:
  static std::string join(std::span<const std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  }
  void expect_open() const { EXPECT_FALSE(over) << "a response that is over is used"; }
  void act() {
    if (during) during();
  }
};

}  // namespace stdgate::test
