// SimSession: a client with a session, over and over again: it opens one, calls, is asked and
// answers late, twice or never, reads slowly, and leaves; and holds the core to the contract of a
// SessionSink.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gateway/pool/backend.h"
#include "gateway/session/session_sink.h"
#include "tests/sim/sim_calls.h"
#include "tests/sim/sim_world.h"

namespace stdgate::sim {

class SimSession final : public SessionSink {
 public:
  SimSession(SimWorld& world, Origins& origins, SimOwners& owners, Backend& backend,
             Protocol protocol);
  ~SimSession() override;

  // Opens a session when there is none; else sends something, holds its child, or leaves.
  void act();
  // Closes the session, if there is one; nothing may arrive afterwards.
  void leave();
  [[nodiscard]] bool is_open() const { return visit_ != nullptr; }
  [[nodiscard]] bool has_ended() const { return visit_ != nullptr && visit_->has_ended; }
  [[nodiscard]] size_t open_calls() const { return visit_ == nullptr ? 0 : visit_->calls.open(); }
  // Since the beginning.
  [[nodiscard]] uint64_t requests() const;

  void on_reply(Tag tag, const Reply& reply) override;
  void on_event(Tag tag, std::string_view notification) override;
  void on_cancelled(Tag tag) override;
  void on_message(std::optional<Tag> call, std::span<const std::string_view> parts) override;
  void set_reading(bool reading) override;
  void on_session_end(SessionEnd end, std::string_view message) override;

 private:
  // One session, from its opening to its end.
  struct Visit {
    explicit Visit(SimCalls its_calls) : calls(std::move(its_calls)) {}
    Origin origin;
    SessionId id;
    SimCalls calls;
    std::set<std::string> asks;  // the ids of what it has been asked
    bool reading = true;
    bool is_held = false;
    bool has_ended = false;
    bool waits_when_told = true;
  };
  // A child has been heard that is the session's own, perhaps.
  void check_heard() const;
  void open();
  void act_in_session();
  void hold(bool held);
  void note_ask(const Envelope& ask);
  void check_notification(const Envelope& notification);
  void answer_later(std::string text);
  Admission send(std::string text, Origin origin, SessionId session, Tag tag = 0);
  void send(std::string text, Tag tag = 0) {
    send(std::move(text), visit_->origin, visit_->id, tag);
  }
  // Whether there is a session that may be told anything.
  [[nodiscard]] bool may_be_told() const {
    EXPECT_NE(visit_, nullptr) << "a session that is closed is told something";
    return visit_ != nullptr;
  }

  SimWorld& world_;
  Origins& origins_;
  SimOwners& owners_;
  Backend& backend_;
  const Protocol protocol_;
  std::unique_ptr<Visit> visit_;
  uint64_t visits_ = 0;
  uint64_t requests_ = 0;  // of earlier visits
  EnvelopeParser sent_;
  EnvelopeParser told_;
};

}  // namespace stdgate::sim
