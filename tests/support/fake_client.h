// FakeClient: a caller in memory, which keeps the answers, and may run an action on each answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/session/sinks.h"

namespace stdgate::test {

class FakeClient final : public session::ReplySink {
 public:
  struct Answer {
    session::Tag tag = 0;
    std::string text;
    std::optional<rpc::Fault> fault;
    Duration retry_after{0};
    std::string scope{};
  };
  explicit FakeClient(session::Callers& callers)
      : callers_(callers), caller_(*callers.add(*this)) {}
  ~FakeClient() override { callers_.remove(caller_); }
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;

  void on_reply(session::Tag tag, const session::Reply& reply) override {
    Answer answer{tag, std::string(reply.head), reply.fault, reply.retry_after,
                  std::string(reply.scope)};
    answer.text.append(reply.id).append(reply.tail);
    answers.push_back(answer);
    if (after_reply) after_reply(answer);
  }
  void on_event(session::Tag tag, std::string_view notification) override {
    events.emplace_back(tag, notification);
  }
  void on_cancelled(session::Tag tag) override { cancelled.push_back(tag); }

  [[nodiscard]] session::Caller caller() const { return caller_; }
  // The texts of the answers so far.
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const Answer& answer : answers) texts.push_back(answer.text);
    return texts;
  }

  std::vector<Answer> answers;
  std::vector<std::pair<session::Tag, std::string>> events;
  std::vector<session::Tag> cancelled;
  std::function<void(const Answer&)> after_reply;

 private:
  session::Callers& callers_;
  const session::Caller caller_;
};

}  // namespace stdgate::test
