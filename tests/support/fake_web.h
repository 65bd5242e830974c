// FakeWeb: a WebClient in memory. The test plays the server: it sees the requests, and answers
// them.
//
// RemoteWorld: what a Remote needs beside it: a clock that stands still, timers, seeded randomness,
// and a client that records what it is told.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/remote/client_message.h"
#include "gateway/remote/remote.h"
#include "gateway/rpc/envelope.h"
#include "tests/support/manual_clock.h"

namespace stdgate::test {

class FakeWeb final : public remote::WebClient {
 public:
  struct Sent {
    remote::WebRequest request;
    remote::WebEvents* events = nullptr;  // null: the request was given up, or has ended
    bool is_paused = false;

    [[nodiscard]] std::string field(const std::string& name) const {
      for (const std::string& field : request.fields) {
        if (field.starts_with(name + ": ")) return field.substr(name.size() + 2);
      }
      return {};
    }
    void head(int status, std::vector<std::pair<std::string, std::string>> fields = {}) const {
      if (events != nullptr) events->on_head({status, std::move(fields)});
    }
    void body(std::string_view bytes) const {
      if (events != nullptr) events->on_body(bytes);
    }
    void end() { finish(nullptr); }
    void fail(remote::WebFailure failure) { finish(&failure); }
    // Sends the whole response.
    void answer(int status, const std::string& type = {}, std::string_view text = {},
                std::vector<std::pair<std::string, std::string>> fields = {}) {
      if (!type.empty()) fields.emplace_back("content-type", type);
      head(status, std::move(fields));
      if (!text.empty()) body(text);
      end();
    }
    void finish(const remote::WebFailure* failure) {
      if (events != nullptr) std::exchange(events, nullptr)->on_end(failure);
    }
  };

  std::unique_ptr<remote::WebTransfer> start(remote::WebRequest request,
                                             remote::WebEvents& events) override {
    sent.push_back(std::make_unique<Sent>(Sent{std::move(request), &events}));
    return std::make_unique<Transfer>(*sent.back());
  }

  [[nodiscard]] Sent& last() { return *sent.back(); }
  // The requests with this method that have not ended.
  [[nodiscard]] std::vector<Sent*> open(remote::WebMethod method) const {
    std::vector<Sent*> found;
    for (const auto& one : sent) {
      if (one->request.method == method && one->events != nullptr) found.push_back(one.get());
    }
    return found;
  }
  [[nodiscard]] size_t count(std::string_view body) const {
    return static_cast<size_t>(
        std::ranges::count_if(sent, [body](const auto& one) { return one->request.body == body; }));
  }

  std::vector<std::unique_ptr<Sent>> sent;

 private:
  class Transfer final : public remote::WebTransfer {
   public:
    explicit Transfer(Sent& sent) : sent_(sent) {}
    ~Transfer() override { sent_.events = nullptr; }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    void pause() override { sent_.is_paused = true; }
    void resume() override { sent_.is_paused = false; }

   private:
    Sent& sent_;
  };
};

class RemoteWorld : private remote::LocalClient, private remote::Authorizer {
 public:
  RemoteWorld() = default;
  RemoteWorld(const RemoteWorld&) = delete;
  RemoteWorld& operator=(const RemoteWorld&) = delete;
  ~RemoteWorld() override = default;

  remote::RemoteServices services() { return {*this, web, *this, clock, timers, random}; }

  void wait(Duration time) {
    const TimePoint until = clock.now() + time;
    while (timers.next_due() && *timers.next_due() <= until) {
      clock.set(std::max(clock.now(), *timers.next_due()));
      timers.run_due(clock.now());
    }
    clock.set(until);
  }
  // Nothing if `text` is no valid message.
  static std::optional<remote::ClientMessage> message(std::string text) {
    rpc::EnvelopeParser parser{rpc::EnvelopeLimits{}};
    const auto document = parser.parse({text.data(), text.size()});
    if (!document || !document->messages[0].ok()) return std::nullopt;
    return remote::read_client_message(*document, text);
  }

  FakeWeb web;
  ManualClock clock;
  TimerQueue timers;
  Random random{1};
  std::vector<std::string> told;   // messages to the client
  std::vector<std::string> lines;  // messages for people
  std::optional<remote::Exit> left;
  std::string token;       // sent with each request
  std::string next_token;  // the token that renew() gives; empty: renewal is impossible
  size_t renewals = 0;
  size_t rooms = 0;  // how often on_room() was called

 private:
  void send(std::string_view text) override { told.emplace_back(text); }
  void say(const std::string& line) override { lines.push_back(line); }
  void leave(remote::Exit exit) override { left = exit; }
  void on_room() override { ++rooms; }
  [[nodiscard]] std::vector<std::string> fields() const override {
    if (token.empty()) return {};
    return {"Authorization: Bearer " + token};
  }
  [[nodiscard]] bool can_renew() const override { return !next_token.empty(); }
  void renew(Done done) override {
    ++renewals;
    token = next_token;
    done_ = std::move(done);
    renew_timer_.arm(clock.now());
  }

  Done done_;
  Timer renew_timer_{timers, [this] { std::exchange(done_, nullptr)({}); }};
};

}  // namespace stdgate::test
