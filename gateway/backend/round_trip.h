// Trip: one call of a modern client at a legacy child of its own, see RoundTrips.
//
// What its child says comes to it as to the client of a session; the owner hears of it. Owner:
// RoundTrips. Limits: Session::kMaxAsks questions, and config.limits.message bytes of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/call/call.h"
#include "gateway/pool/input_dialect.h"
#include "gateway/session/session_sink.h"

namespace stdgate::backend {

class Trip;

class TripOwner {
 public:
  virtual ~TripOwner() = default;
  // A request or notification of the trip's child, for its client.
  virtual void on_trip_message(Trip& trip, std::string_view text) = 0;
  // A trip has lost its child, and is to be released when it has no call.
  virtual void on_trip_over() = 0;
};

// What the child of a trip wants to know.
struct Question {
  rpc::WireId ask = 0;  // of the session
  pool::InputRequest request;
};

// The same, before there is a call whose client it could be asked.
struct FirstAsk {
  rpc::WireId ask = 0;  // of the session
  std::string text;     // the request, whole
};

// How what a child has asked ends for it: by a raw member, result or error.
struct AskEnd {
  rpc::WireId ask = 0;  // of the session
  std::string member;
};

class Trip final : public session::SessionSink {
 public:
  // What the gateway's own keys of questions begin with; no name that a child gives does.
  static constexpr std::string_view kOwnKey = "input-";

  Trip(TripOwner& owner, uint64_t number_of_it, std::string greeting_of_it,
       std::optional<session::Severity> severity_of_it)
      : number(number_of_it),
        greeting(std::move(greeting_of_it)),
        severity(severity_of_it),
        owner_(owner) {}

  // SessionSink
  void on_message(std::optional<session::Tag> of_call,
                  std::span<const std::string_view> parts) override {
    if (of_call) return;
    std::string text;
    for (const std::string_view part : parts) text += part;
    owner_.on_trip_message(*this, text);
  }
  [[nodiscard]] session::ClientHold hold() const override { return session::ClientHold::nothing; }
  void set_reading(bool /*reading*/) override {}
  void on_session_end(session::SessionEnd /*end*/, std::string_view /*message*/) override {
    is_spoilt = true;
    owner_.on_trip_over();
  }
  void on_reply(session::Tag /*tag*/, const session::Reply& /*reply*/) override {}
  void on_event(session::Tag /*tag*/, std::string_view /*notification*/) override {}
  void on_cancelled(session::Tag /*tag*/) override {}

  // Whether the object `answers` has one for something that the client was asked.
  [[nodiscard]] bool has_answer(std::string_view answers) const;

  [[nodiscard]] bool is_idle() const { return call == nullptr && !is_parked; }
  // Whether its child can have another call, even if what ended the last one is still in progress.
  [[nodiscard]] bool may_be_used_again() const {
    return is_idle() && !is_spoilt && questions.empty() && replies.empty();
  }
  // Whether it may have this call, of a client with that greeting. `is_strict`: of its principal
  // only.
  [[nodiscard]] bool may_serve(const call::Call& next, std::string_view its_greeting,
                               bool is_strict) const {
    return may_be_used_again() && greeting == its_greeting && severity == next.severity &&
           ((!is_strict && !is_private) || is_of_client(next));
  }
  // Whether its call cannot be parked, and so waits.
  [[nodiscard]] bool awaits_place() const { return is_place_wanted && !questions.empty(); }
  // Who makes this call becomes the client that the trip, which is idle, belongs to.
  void take(const call::Call& by) {
    has_ended = is_place_wanted = false;
    identity = by.identity;
  }
  // Whether the client of this call is known to be the one that it belongs to. No two anonymous
  // calls are: an address says nothing of who is there.
  [[nodiscard]] bool is_of_client(const call::Call& next) const {
    return !identity.empty() && next.identity == identity;
  }

  // The results, out of the object `answers`, that its child has to get. Questions without one
  // stay.
  std::vector<AskEnd> take_answers(std::string_view answers);
  // A question of its child, which asks under `id` (raw JSON), as its client is to be asked it:
  // under that name if it is one, else under `other`. The client may have answered it already.
  void add_question(rpc::WireId ask, std::string_view id, const std::string& other,
                    std::string request);

  // What is to be asked now.
  [[nodiscard]] std::vector<pool::InputRequest> open_requests() const;
  // Of those that are open, and of first asks.
  [[nodiscard]] size_t question_bytes() const;
  [[nodiscard]] size_t first_bytes() const;
  // What is kept of it while it is parked has changed.
  void charge();
  // The first asks have changed, which are kept for no client yet.
  void charge_first(const Payer& payer);
  // Its child has withdrawn what it has asked.
  void forget(rpc::WireId ask) {
    std::erase_if(questions, [ask](const Question& question) { return question.ask == ask; });
    std::erase_if(first_asks, [ask](const FirstAsk& first) { return first.ask == ask; });
  }

  const uint64_t number;
  std::string greeting;                             // its params: what its client declares
  const std::optional<session::Severity> severity;  // of the log messages that its child is to send
  session::SessionId session;
  std::string identity;  // who may go on with it; empty: anonymous
  std::string essence;   // of the request
  std::string given;     // an object: answers that have come with the request; empty: none
  bool may_need_input = false;
  // The call whose client waits; null: nobody does. It waits or is in flight.
  call::Call* call = nullptr;

  // --- Parked, or about to be
  bool is_parked = false;
  uint64_t round = 0;  // of those that it has been parked for
  TimePoint expires{};
  bool is_unanswered = false;      // its client has come back with nothing
  call::Call* stand_in = nullptr;  // in flight in the place of the parked call; null: none is
  std::vector<Question> questions;
  bool is_place_wanted = false;             // there was none when it was to be parked
  TimePoint asking_until{};                 // others may follow the first question
  std::vector<AskEnd> replies;              // that its child is to get without its client
  std::vector<pool::InputRequest> demands;  // to be met before the call is made again
  std::optional<std::string> answer;        // that has come meanwhile
  std::string lacking;                      // a capability that was needed; empty: none
  std::optional<TimePoint> quiet_until;     // its calls wait, as its child is taking answers in
  std::vector<FirstAsk> first_asks;         // for the first call whose client may be asked that

  Share held{{}, Holding::calls};        // of what is kept while it is parked
  Share held_first{{}, Holding::calls};  // of first asks

  // --- Over
  TimePoint idle_since{};
  uint64_t last_end = 0;    // the number of the end of its last call, among all ends
  bool has_ended = false;   // in this turn
  bool is_private = false;  // its child has been told what is of one client alone
  bool is_spoilt = false;   // its child serves no other call

 private:
  TripOwner& owner_;
};

}  // namespace stdgate::backend
