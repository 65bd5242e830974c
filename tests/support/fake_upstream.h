// FakeUpstream: an upstream that answers by itself, without a pool and children.
//
// A request "hold" waits for release(). A request "hello" sends a message to its session before the
// answer. Every other request is answered at once, with its params as the result.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/backend/upstream.h"
#include "gateway/rpc/json_reader.h"

namespace stdgate::test {

class FakeUpstream final : public backend::Upstream {
 public:
  FakeUpstream(backend::UpstreamFacts facts, session::Callers& callers)
      : backend::Upstream(std::move(facts)), callers_(callers) {}

  backend::Admission accept(const rpc::ParsedMessage& message,
                            const call::CallContext& context) override {
    const rpc::Envelope& envelope = message.envelope;
    trace = context.trace == nullptr ? TraceContext() : *context.trace;
    if (!message.ok()) {
      refuse(rpc::faults::plain(rpc::Fault::invalid_request), {.id = envelope.id}, context);
      return backend::Admission::answered_by_reply;
    }
    if (envelope.kind != rpc::MessageKind::request) {
      notifications.emplace_back(envelope.method);
      return backend::Admission::delivered;
    }
    if (envelope.method == "hold") {
      held_.push_back({context.caller, context.tag, std::string(envelope.id)});
      return backend::Admission::answered_by_reply;
    }
    if (envelope.method == "hello") {
      constexpr std::string_view kHello = R"({"jsonrpc":"2.0","method":"hello"})";
      sessions_.find(context.session)->sink->on_message(context.tag, {&kHello, 1});
    }
    const std::string params(envelope.params.empty() ? "null" : envelope.params);
    answer({context.caller, context.tag, std::string(envelope.id)}, params);
    return backend::Admission::answered_by_reply;
  }
  bool take_cancel(const rpc::ParsedMessage& message, const call::CallContext& context) override {
    const std::string_view id = rpc::member_or_empty(message.envelope.params, "requestId");
    return std::erase_if(held_, [&](const Held& call) {
             return call.caller == context.caller && call.id == id;
           }) > 0;
  }
  void refuse(const rpc::FaultReport& report, const backend::UnreadRequest& request,
              const call::CallContext& context) override {
    std::string text;
    rpc::append_fault_response(text, request.id, report, codes(), false);
    session::Reply reply;
    reply.head = text;
    reply.fault = report.fault;
    callers_.find(context.caller)->on_reply(context.tag, reply);
  }
  void count_refused(const rpc::FaultReport& /*report*/, const backend::UnreadRequest& /*request*/,
                     const call::CallContext& /*context*/) override {
    ++refused;
  }
  void cancel_calls_of(session::Caller caller) override {
    cancelled += std::erase_if(held_, [caller](const Held& call) { return call.caller == caller; });
  }

  tl::expected<session::SessionId, rpc::FaultReport> open_session(
      session::Caller caller, session::SessionSink& sink,
      const policy::Client& /*client*/) override {
    const auto id = sessions_.acquire();
    if (!id) return tl::unexpected(rpc::faults::overloaded("no more sessions"));
    *sessions_.find(*id) = {caller, &sink};
    return *id;
  }
  void end_sessions(session::SessionEnd end, std::string_view message) override {
    sessions_.for_each([&](session::SessionId, const FakeSession& session) {
      session.sink->on_session_end(end, message);
    });
  }
  void set_rules(const config::BackendConfig& /*backend*/,
                 const std::vector<config::RoleConfig>& /*roles*/) override {}
  void set_limits(const config::LimitsConfig& /*limits*/,
                  const config::TimeoutsConfig& /*timeouts*/) override {}
  void end_listening() override {}
  void close_session(session::SessionId session, std::string_view /*why*/) override {
    if (const FakeSession* open = sessions_.find(session); open != nullptr) {
      cancel_calls_of(open->caller);
      sessions_.release(session);
    }
  }
  tl::expected<session::SessionId, rpc::FaultReport> adopt_session(
      session::Caller caller, session::SessionSink& sink, const policy::Client& client,
      const session::Beginning& /*beginning*/) override {
    return open_session(caller, sink, client);
  }
  session::Parking park_session(session::SessionId /*session*/) override {
    return session::Parking::refused;
  }
  void give_up_asks(session::SessionId /*session*/) override {}
  void hold_child(session::SessionId /*session*/, bool /*held*/) override {}

  void start() override {}
  void drain() override { draining = true; }
  void fail_calls(const rpc::FaultReport& report) override {
    for (const Held& call : std::exchange(held_, {})) {
      call::CallContext context;
      context.caller = call.caller;
      context.tag = call.tag;
      refuse(report, {.id = call.id}, context);
    }
  }
  void end_children(Duration /*grace*/) override {}
  [[nodiscard]] size_t calls() const override { return held_.size(); }
  [[nodiscard]] bool has_children() const override { return false; }
  [[nodiscard]] pool::BackendStatus status() const override {
    pool::BackendStatus status;
    status.name = name();
    status.ready = !draining;
    if (draining) status.reason = "shutting down";
    status.in_flight = held_.size();
    status.sessions = sessions_.size();
    status.parked_calls = parked_calls;
    return status;
  }

  // Answers the held calls, the last one first.
  void release() {
    while (!held_.empty()) {
      const Held call = std::move(held_.back());
      held_.pop_back();
      answer(call, "true");
    }
  }
  [[nodiscard]] size_t sessions() const { return sessions_.size(); }

  std::vector<std::string> notifications;
  TraceContext trace;  // of the last message
  size_t refused = 0;
  size_t cancelled = 0;
  size_t parked_calls = 0;
  bool draining = false;

 private:
  static constexpr size_t kMaxSessions = 2;
  struct Held {
    session::Caller caller;
    session::Tag tag = 0;
    std::string id;
  };
  struct FakeSession {
    session::Caller caller;
    session::SessionSink* sink = nullptr;
  };

  void answer(const Held& call, const std::string& result) {
    const std::string tail = R"(,"result":)" + result + '}';
    session::Reply reply;
    reply.head = R"({"jsonrpc":"2.0","id":)";
    reply.id = call.id;
    reply.tail = tail;
    callers_.find(call.caller)->on_reply(call.tag, reply);
  }

  session::Callers& callers_;
  std::vector<Held> held_;
  SlotMap<FakeSession> sessions_{kMaxSessions};
};

}  // namespace stdgate::test
