// EchoCore: a backend with children in memory that answer each call with its params.
//
// Job: take calls through the whole core and nothing else: parser, Backend, Pool, Child, and back
// through the framer to the sink. Its clock stands still. Owner: a case, which gives the request.
// Limit: one call in flight.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/backend/backend.h"

namespace stdgate::bench {

class EchoLink;

class EchoCore final : private session::SessionSink,
                       private pool::ChildLauncher,
                       private Clock,
                       private Log {
 public:
  enum class Caller : uint8_t { alone, session, session_with_own_child };

  // `request`: kRequestBegin, followed by an id.
  EchoCore(Caller caller, std::string request, std::string_view params, Observer& observer);
  ~EchoCore() override;
  EchoCore(const EchoCore&) = delete;
  EchoCore& operator=(const EchoCore&) = delete;

  static constexpr std::string_view kRequestBegin = R"({"jsonrpc":"2.0","id":)";

  // Makes a call and gets its answer.
  void call();
  [[nodiscard]] size_t answers() const { return answers_; }

 private:
  friend class EchoLink;

  // SessionSink
  void on_reply(session::Tag /*tag*/, const session::Reply& reply) override {
    answers_ += reply.fault ? 0 : 1;
  }
  void on_event(session::Tag /*tag*/, std::string_view /*notification*/) override {}
  void on_cancelled(session::Tag /*tag*/) override {}
  void on_message(std::optional<session::Tag> /*call*/,
                  std::span<const std::string_view> /*parts*/) override {}
  void set_reading(bool /*wanted*/) override {}
  void on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) override {}
  // ChildLauncher
  std::unique_ptr<pool::ChildLink> launch(const pool::LaunchSpec& spec,
                                          pool::ChildEvents& events) override;
  // Clock
  [[nodiscard]] TimePoint now() const override { return TimePoint(std::chrono::hours(1)); }
  // Log
  [[nodiscard]] bool enabled(LogLevel /*level*/) const override { return false; }
  void write(LogLevel /*level*/, std::string_view /*event*/,
             std::initializer_list<LogField> /*fields*/) override {}

  void start_children();

  std::string request_;
  const std::string answer_end_;  // what follows the id
  std::vector<EchoLink*> links_;
  EchoLink* asked_ = nullptr;  // the link with a call to answer
  size_t answers_ = 0;
  TimerQueue timers_;
  Random random_{1};
  StoragePool storages_;
  session::Callers callers_{4};
  pool::CoreServices services_;
  backend::Backend backend_;
  rpc::EnvelopeParser parser_;
  call::CallContext context_;
};

// --- Requests of `echo` with a given size, for cases

// Params of at most `size` bytes. Their text repeats `filling`.
inline std::string echo_params(size_t size, std::string_view filling = "x") {
  constexpr std::string_view kBegin = R"({"text":")";
  constexpr std::string_view kEnd = R"("})";
  std::string text(kBegin);
  text.resize(
      kBegin.size() + (size - kBegin.size() - kEnd.size()) / filling.size() * filling.size(),
      filling[0]);
  if (filling.size() > 1) {
    for (size_t at = kBegin.size(); at < text.size(); at += filling.size()) {
      text.replace(at, filling.size(), filling);
    }
  }
  return text.append(kEnd);
}

inline std::string echo_request(std::string_view params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"echo","params":)" + std::string(params) + '}';
}

// A request of about `size` bytes.
inline std::string echo_request_of(size_t size, std::string_view filling = "x") {
  return echo_request(echo_params(size - echo_request("").size(), filling));
}

}  // namespace stdgate::bench
