// SimSession: a client that opens one session after the other. In a session the client calls, is
// asked and answers late, twice or never, reads slowly, and leaves. SimSession checks that the core
// keeps the contract of a SessionSink.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/backend/backend.h"
#include "gateway/session/sinks.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_records.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

// SimStarts: checks that clients do not start sessions with children of their own more often than
// the limit allows.
class SimStarts {
 public:
  SimStarts(double per_second, double burst) : per_second_(per_second), burst_(burst) {}
  void note(const ClientAddress& client, TimePoint now);

 private:
  const double per_second_;
  const double burst_;
  std::map<std::string, std::vector<TimePoint>> starts_;  // by the text of the client's address
};

class SimSession final : public session::SessionSink {
 public:
  SimSession(SimWorld& world, session::Callers& callers, SimOwners& owners,
             backend::Backend& backend, const config::BackendConfig& config, SimStarts& starts,
             SimRecords& records, const ClientAddress& client);
  ~SimSession() override;

  // Opens a session if none is open. Otherwise it sends something, holds its child, or leaves.
  void act();
  // Closes an open session. Nothing may arrive afterwards.
  void leave();
  [[nodiscard]] bool is_open() const { return visit_ != nullptr; }
  [[nodiscard]] bool has_ended() const { return visit_ != nullptr && visit_->has_ended; }
  // Whether the session has had a child.
  [[nodiscard]] bool has_heard() const { return visit_ != nullptr && visit_->calls.has_heard(); }
  [[nodiscard]] size_t open_calls() const { return visit_ == nullptr ? 0 : visit_->calls.open(); }
  // The number of requests in all sessions so far.
  [[nodiscard]] uint64_t requests() const;

  void on_reply(session::Tag tag, const session::Reply& reply) override;
  void on_event(session::Tag tag, std::string_view notification) override;
  void on_cancelled(session::Tag tag) override;
  void on_message(std::optional<session::Tag> call,
                  std::span<const std::string_view> parts) override;
  [[nodiscard]] session::ClientHold hold() const override { return visit_->hold; }
  void set_reading(bool reading) override;
  void on_session_end(session::SessionEnd end, std::string_view message) override;

 private:
  // One session, from its opening to its end.
  struct Visit {
    explicit Visit(SimCalls its_calls) : calls(std::move(its_calls)) {}
    session::Caller caller;
    session::SessionId id;
    SimCalls calls;
    std::map<std::string, TimePoint> asks;  // when each question arrived, by id
    bool reading = true;
    bool is_held = false;
    bool has_ended = false;
    bool waits_when_told = true;
    bool is_old = false;  // it began in another process
    session::ClientHold hold = session::ClientHold::connection;
  };
  // Whether sessions have no children of their own, or no longer have them.
  [[nodiscard]] bool shares_children() const {
    return backend_.status().isolation == config::Isolation::shared;
  }
  [[nodiscard]] policy::Client client() const {
    return {client_, nullptr, world_.accounts().of({nullptr, client_})};
  }
  // Checks a message that may come from the session's own child.
  void check_heard() const;
  void open();
  [[nodiscard]] tl::expected<session::SessionId, rpc::FaultReport> take_over();
  void act_in_session();
  void set_held(bool held);
  void note_ask(const rpc::Envelope& ask, std::optional<session::Tag> call);
  void check_change(const rpc::Envelope& notification);
  [[nodiscard]] bool is_withdrawal(const rpc::Envelope& message) const;
  [[nodiscard]] std::string cancelled_ask(const rpc::Envelope& cancel) const;
  void check_notification(const rpc::Envelope& notification);
  void answer_later(std::string text);
  backend::Admission send(SimCalls::Request request, session::Caller caller,
                          session::SessionId session);
  void send(SimCalls::Request request) { send(std::move(request), visit_->caller, visit_->id); }
  void send(std::string text) { send({0, std::move(text)}); }
  // Checks that a session is open, so that it may receive a message.
  [[nodiscard]] bool may_be_told() const {
    EXPECT_NE(visit_, nullptr) << "a session that is closed is told something";
    return visit_ != nullptr;
  }

  SimWorld& world_;
  session::Callers& callers_;
  SimOwners& owners_;
  backend::Backend& backend_;
  const config::BackendConfig& config_;
  SimStarts& starts_;
  SimRecords& records_;
  const ClientAddress client_;
  std::unique_ptr<Visit> visit_;
  uint64_t visits_ = 0;
  uint64_t requests_ = 0;  // of former visits
  rpc::EnvelopeParser sent_;
  rpc::EnvelopeParser told_;
};

}  // namespace stdgate::sim
