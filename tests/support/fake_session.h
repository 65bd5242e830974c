// FakeSession: the client of a session, in memory, which keeps what it receives.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/session/sinks.h"

namespace stdgate::test {

class FakeSession final : public session::SessionSink {
 public:
  explicit FakeSession(session::Callers& callers)
      : callers_(callers), caller_(*callers.add(*this)) {}
  ~FakeSession() override { callers_.remove(caller_); }
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;

  void on_reply(session::Tag /*tag*/, const session::Reply& reply) override {
    received.push_back(std::string(reply.head).append(reply.id).append(reply.tail));
  }
  void on_event(session::Tag /*tag*/, std::string_view notification) override {
    EXPECT_TRUE(listens) << "a session's messages come through on_message(): " << notification;
  }
  void on_cancelled(session::Tag tag) override {
    EXPECT_FALSE(end.has_value()) << "nothing comes after the end";
    cancelled.push_back(tag);
    received_before_cancel = received;
  }
  void on_message(std::optional<session::Tag> /*call*/,
                  std::span<const std::string_view> parts) override {
    EXPECT_FALSE(end.has_value()) << "nothing comes after the end";
    std::string& text = received.emplace_back();
    for (const std::string_view part : parts) text += part;
  }
  [[nodiscard]] session::ClientHold hold() const override { return held; }
  void set_reading(bool wanted) override {
    EXPECT_FALSE(end.has_value()) << "nothing comes after the end";
    reading = wanted;
    if (on_reading) on_reading(wanted);
  }
  void on_session_end(session::SessionEnd how, std::string_view message) override {
    EXPECT_FALSE(end.has_value()) << "a session ends once";
    end = how;
    end_message = message;
    received_before_end = received;
  }

  [[nodiscard]] session::Caller caller() const { return caller_; }
  // The answers and messages since the last take, in order.
  std::vector<std::string> take() { return std::exchange(received, {}); }

  session::SessionId id;  // set when the session is open
  session::ClientHold held = session::ClientHold::connection;
  bool listens = false;  // whether a call of the connection listens
  std::vector<std::string> received;
  std::vector<session::Tag> cancelled;
  std::optional<session::SessionEnd> end;
  std::string end_message;
  std::vector<std::string> received_before_end;  // what had not been taken when the session ended
  std::vector<std::string> received_before_cancel;  // the same for its last cancelled call
  bool reading = true;
  std::function<void(bool)> on_reading;  // may be empty

 private:
  session::Callers& callers_;
  const session::Caller caller_;
};

}  // namespace stdgate::test
